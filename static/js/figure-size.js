/** How a figure's panels fill the width of the page: pure, without the page. */

const NARROWEST = 240; // px that a panel needs
const WIDEST = 480; // px beyond which a panel gains nothing
const AXIS = 62; // px left of a row for its axis, and right of it for half a label

/**
 * As many panels in a row as have room, at most those of the specification and of the data.
 * @param {any} specification
 * @param {number} width
 */
export function fitted(specification, width) {
  const rows = Object.values(specification.datasets)[0];
  const panels = new Set(rows.map((row) => row[specification.facet.field])).size;
  const room = Math.max(1, Math.floor((width - AXIS) / NARROWEST));
  const columns = Math.min(specification.columns, panels, room);
  const gaps = (columns - 1) * specification.spacing;
  const panelWidth = Math.min(WIDEST, Math.floor((width - AXIS - gaps) / columns));
  return { ...specification, columns, spec: { ...specification.spec, width: panelWidth } };
}
