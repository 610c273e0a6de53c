// Types that static/js needs in addition to the browser's: Vega's function, htmx's events, and the
// element of each selector in the templates (checked by the browser tests).

declare function vegaEmbed(element: Element, specification: object, options: object): Promise<any>;

interface HtmxEvent extends CustomEvent {
  readonly target: HTMLElement;
}

interface DocumentEventMap {
  "htmx:beforeCleanupElement": HtmxEvent;
  "htmx:afterSettle": HtmxEvent;
  "htmx:beforeRequest": HtmxEvent;
  "htmx:configRequest": HtmxEvent;
  "htmx:afterRequest": HtmxEvent;
  "htmx:responseError": HtmxEvent;
  "htmx:sendError": HtmxEvent;
  "htmx:timeout": HtmxEvent;
  "htmx:xhr:progress": HtmxEvent;
}

interface ParentNode {
  querySelector(selectors: string): any;
  querySelectorAll(selectors: string): NodeListOf<any>;
}
