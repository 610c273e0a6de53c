/** The layout of a figure's panels for the width of the page. Pure, without DOM. */

const NARROWEST = 240; // minimum width of a panel in px
const WIDEST = 580; // maximum useful width of a panel in px: two of them fill the widest page
const NARROW = 600; // width in px of a page on which a legend has two columns
const SYMBOL = 40; // px for the symbol and gaps of a legend
const AXIS = 62; // px to the left of a row for its axis, and to the right for half a label

/**
 * Return the specification with the number of panels per row, and their width. There are as few
 * rows as columns and width allow, filled as evenly as possible. A legend never makes the figure
 * wider than a narrow page.
 * @param {any} specification
 * @param {number} width
 */
export function fitted(specification, width) {
  const rows = Object.values(specification.datasets)[0];
  const panels = new Set(rows.map((row) => row[specification.facet.field])).size;
  const room = Math.max(1, Math.floor((width - AXIS) / NARROWEST));
  const most = Math.min(specification.columns, panels, room);
  const columns = Math.ceil(panels / Math.ceil(panels / most));
  const gaps = (columns - 1) * specification.spacing;
  const panelWidth = Math.min(WIDEST, Math.floor((width - AXIS - gaps) / columns));
  const narrow = { columns: 2, labelLimit: Math.floor(width / 2) - SYMBOL };
  const legend = { ...specification.config?.legend, ...(width < NARROW ? narrow : {}) };
  const config = { ...specification.config, legend };
  return { ...specification, columns, config, spec: { ...specification.spec, width: panelWidth } };
}
