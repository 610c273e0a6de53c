/**
 * Mouse, pen and touch for <span-answer>: what was pressed, and which words a drag covers.
 *
 * Where the pointer is comes from its own coordinates: the event's target may be a neighbour
 * (browsers move taps to something focusable near by), and the caret, not the element under the
 * pointer, decides what a drag covers.
 */

import { nearest, snap } from "./spans.js";

const DRAG = 5; // px moved before a press is a drag
const TAP = 10; // px that a finger may slip within a tap
const REACH = 16; // px from a word at which a press still means it

export function listenToPointer(answer, on) {
  let press = null;

  const end = () => {
    answer.boxes.forEach(({ box }) => box.classList.remove("hl-dragging"));
    press = null;
    answer.restoreTabStops();
  };

  answer.boxes.forEach((box, number) => {
    const down = ({ isPrimary, button, clientX: x, clientY: y, pointerType, pointerId }) => {
      if (!isPrimary || button !== 0) return;
      answer.dropTabStops();
      const caret = caretAt(box, x, y);
      const touch = pointerType === "touch";
      press = { number, x, y, caret, touch, id: pointerId, dragging: false };
    };
    on(box.box, "pointerdown", down, { capture: true });
    on(box.box, "mousedown", (event) => {
      // The browser's own double click and Shift+click select other words than ours.
      if (event.detail > 1 || event.shiftKey) event.preventDefault();
    });
    on(box.box, "dragstart", (event) => event.preventDefault());
  });

  const covered = (event) => {
    const box = answer.boxes[press.number];
    const range = snap(box.tokens, press.caret, caretAt(box, event.clientX, event.clientY));
    return range && { box: press.number, ...range };
  };

  on(document, "pointermove", (event) => {
    if (!press || press.touch || event.pointerId !== press.id) return;
    if (!press.dragging && distance(press, event) <= DRAG) return;
    press.dragging = true;
    answer.boxes[press.number].box.classList.add("hl-dragging");
    answer.preview(covered(event));
  });

  on(document, "pointerup", (event) => {
    if (!press || event.pointerId !== press.id) return;
    const { number, x, y, touch, dragging } = press;
    const box = answer.boxes[number];
    const range = dragging ? covered(event) : null;
    const slipped = touch && (distance(press, event) > TAP || isSelecting(box));
    end();
    if (dragging) answer.previewed = null;
    if (slipped) return;
    if (!touch) getSelection().removeAllRanges();
    const token = tokenAt(box, x, y);
    if (range) answer.commit(number, range.first, range.last);
    else if (token < 0) answer.preview(null);
    else if (dragging) answer.commit(number, token, token);
    else answer.choose(number, token, event.shiftKey);
    // Touch never focuses a word: the page would jump, and taps near it would be moved to it.
    const reached = range ? range.last : token;
    if (!touch && reached >= 0) answer.focusToken(number, reached, true);
  });

  const drop = (event) => {
    if (!press || (event.pointerId ?? press.id) !== press.id) return;
    end();
    answer.preview(null);
  };
  on(document, "pointercancel", drop);
  on(document, "contextmenu", drop);
}

function distance(press, event) {
  return Math.hypot(event.clientX - press.x, event.clientY - press.y);
}

/** Did a long press select text in the browser's own way? */
function isSelecting({ box }) {
  const selection = getSelection();
  return !selection.isCollapsed && box.contains(selection.anchorNode);
}

/** The number of the token at a point, or the nearest within reach, or -1. */
function tokenAt({ box, elements }, x, y) {
  const hit = document.elementFromPoint(x, y)?.closest("[data-t]");
  if (hit && box.contains(hit)) return elements.indexOf(hit);
  const rects = [];
  const owner = [];
  elements.forEach((element, token) => {
    for (const rect of element.getClientRects()) {
      rects.push(rect);
      owner.push(token);
    }
  });
  return owner[nearest(rects, x, y, REACH)] ?? -1;
}

/** The caret nearest to a point, in code points of the box; points outside are moved to its edge. */
function caretAt(box, x, y) {
  const { left, right, top, bottom } = box.box.getBoundingClientRect();
  const cx = clamp(x, left + 1, Math.min(right, innerWidth) - 1);
  const cy = clamp(y, Math.max(top, 0) + 1, Math.min(bottom, innerHeight) - 1);
  let node;
  let offset;
  if (document.caretPositionFromPoint) {
    const caret = document.caretPositionFromPoint(cx, cy);
    [node, offset] = [caret?.offsetNode, caret?.offset];
  } else {
    const caret = document.caretRangeFromPoint(cx, cy);
    [node, offset] = [caret?.startContainer, caret?.startOffset];
  }
  const piece = box.pieces.find(({ element }) => element === node?.parentElement);
  if (piece) return piece.start + [...node.textContent.slice(0, offset)].length;
  const token = tokenAt(box, cx, cy);
  if (token < 0) return y < (top + bottom) / 2 ? 0 : (box.tokens.at(-1)?.[1] ?? 0);
  const rect = box.elements[token].getBoundingClientRect();
  return box.tokens[token][cx < (rect.left + rect.right) / 2 ? 0 : 1];
}

function clamp(value, least, most) {
  return Math.max(least, Math.min(value, most));
}
