/** Typed answers of <span-answer>: a line of the field, found in the texts. No DOM here. */

import { findText, simplified, textOf } from "./spans.js";

/** The first place of a typed line in the boxes, {span}; or {problem}, what is wrong with it. */
export function readLine(boxes, line) {
  for (const [box, { pieces }] of boxes.entries()) {
    const found = findText(pieces, line);
    if (found) return { span: { box, ...found } };
  }
  for (const { pieces } of boxes) {
    const like = findText(pieces, line, simplified);
    if (like) {
      const meant = textOf(pieces, like.first, like.last);
      return { problem: `“${line}” is not in the text exactly so. Did you mean “${meant}”?` };
    }
  }
  const whole = "from the beginning of a word to the end of one";
  return { problem: `“${line}” is not in the text, ${whole}.` };
}
