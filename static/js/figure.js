/**
 * <vega-figure src="...json" label="...">: a Vega-Lite figure in the colours and width of the page.
 * Without this script, the content of the element is shown instead.
 *
 * Vega runs under `script-src 'self'; style-src 'self'`: expressions are interpreted (`ast`), and
 * style elements are disabled (`defaultStyle`, `disableDefaultStyle`). Their rules are in
 * researcher.css instead.
 */

import { fitted } from "./figure-size.js";

const dark = matchMedia("(prefers-color-scheme: dark)");

// The colours in config.json (analysis/figures), and the tokens that replace them.
const TOKENS = {
  "#1b1b1f": "ink",
  "#53565f": "ink-2",
  "#0b4fa8": "series-1",
  "#b3470b": "series-2",
  "#1b6b2f": "series-3",
  "#6b3fc0": "series-4",
  "#8a5a00": "series-6",
};

/** Return the chart's layers in the colours of the page. */
function inTokens(layers) {
  const token = getComputedStyle(document.documentElement);
  const colour = (light) => token.getPropertyValue(`--${TOKENS[light]}`).trim();
  const pattern = new RegExp(Object.keys(TOKENS).join("|"), "g");
  return JSON.parse(JSON.stringify(layers).replace(pattern, colour));
}

/** Return whether a filter, which has one of two forms in charts.json, keeps a row. */
function keeps(filter, row) {
  const [, valid] = /^isValid\(datum\.(\w+)\)$/.exec(filter) ?? [];
  if (valid) return row[valid] !== null;
  const [, field, sign, value] = /^\(datum\.(\w+) ([!=]==) ['"](.*)['"]\)$/.exec(filter) ?? [];
  return !field || (row[field] === value) === (sign === "===");
}

/** Return the layers that have rows. Vega would warn that the extent of the others is infinite. */
function withRows(layers, rows) {
  return layers.filter(({ transform = [] }) => rows.some((row) => transform.every(({ filter }) => keeps(filter, row))));
}

/** Return the chart's config with the colours in tokens.css. */
function inColoursOfThePage(config) {
  const token = getComputedStyle(document.documentElement);
  const of = (name) => token.getPropertyValue(`--${name}`).trim();
  const text = { labelColor: of("ink"), titleColor: of("ink") };
  const lines = { gridColor: of("line"), domainColor: of("edge"), tickColor: of("edge") };
  return {
    ...config,
    background: "transparent",
    font: getComputedStyle(document.body).fontFamily,
    view: { ...config.view, stroke: of("line") },
    axis: { ...config.axis, ...text, ...lines },
    header: { ...config.header, ...text },
    legend: { ...config.legend, ...text },
    title: { ...config.title, color: of("ink") },
    range: { category: [1, 2, 3, 4, 5, 6].map((number) => of(`series-${number}`)) },
    mark: { color: of("ink") },
    rule: { color: of("ink") },
    style: { annotator: { color: of("ink-2") }, baseline: { color: of("ink-2") } },
  };
}

class VegaFigure extends HTMLElement {
  async connectedCallback() {
    this.redraw = () => this.draw();
    dark.addEventListener("change", this.redraw);
    try {
      const reply = await fetch(this.getAttribute("src"));
      if (!reply.ok) throw new Error(`${reply.status}`);
      this.specification = await reply.json();
    } catch {
      this.textContent = "This chart could not be loaded. Reload the page, or see the numbers in the table below.";
      return;
    }
    if (!this.isConnected) return;
    this.setAttribute("role", "img");
    this.setAttribute("aria-label", this.getAttribute("label"));
    this.watch = new ResizeObserver(() => {
      if (this.clientWidth !== this.drawnWidth) this.draw();
    });
    this.watch.observe(this);
  }

  disconnectedCallback() {
    dark.removeEventListener("change", this.redraw);
    this.watch?.disconnect();
    this.result?.finalize();
  }

  /** Draw panels that fill the given number of pixels, if the size of the axes is known by now. */
  async drawIn(width) {
    this.result?.finalize();
    const drawing = fitted(this.specification, width);
    drawing.config = inColoursOfThePage(drawing.config);
    drawing.spec = inTokens(drawing.spec);
    drawing.spec.layer = withRows(drawing.spec.layer, Object.values(drawing.datasets)[0]);
    this.result = await vegaEmbed(this, drawing, {
      mode: "vega-lite",
      renderer: "svg",
      ast: true,
      actions: false,
      defaultStyle: false,
      tooltip: { disableDefaultStyle: true },
    });
  }

  /** Draw again. Only one drawing runs at a time, and only the latest request counts. */
  async draw() {
    this.wanted = true;
    if (this.drawing || !this.specification) return;
    this.drawing = true;
    while (this.wanted) {
      this.wanted = false;
      this.drawnWidth = this.clientWidth;
      await this.drawIn(this.drawnWidth);
      // The size of axes and legends is only known after drawing. The width of a panel is a whole
      // number, so that a narrower drawing may again be one pixel too wide.
      let width = this.drawnWidth;
      for (let tries = 0; tries < 4; tries += 1) {
        const beyond = this.querySelector("svg").getBoundingClientRect().width - this.drawnWidth;
        if (beyond <= 0) break;
        width -= Math.ceil(beyond);
        await this.drawIn(width);
      }
      // The element has a single accessible name, whereas Vega would add a name to every mark.
      this.querySelector("svg").setAttribute("aria-hidden", "true");
    }
    this.drawing = false;
    this.dataset.drawn = dark.matches ? "dark" : "light";
  }
}

customElements.define("vega-figure", VegaFigure);
