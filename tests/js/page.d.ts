// What static/js relies on beside the browser: Vega's one function, htmx's events, and that the
// templates put the right element behind each selector (the browser tests check that).

declare function vegaEmbed(element: Element, specification: object, options: object): Promise<any>;

interface HtmxEvent extends CustomEvent {
  readonly target: HTMLElement;
}

interface DocumentEventMap {
  "htmx:afterSettle": HtmxEvent;
  "htmx:beforeRequest": HtmxEvent;
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
