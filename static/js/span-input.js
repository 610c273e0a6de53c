/**
 * Input by mouse, pen, touch and keyboard for <span-answer>: pressing and dragging over words,
 * moving by word and by line, selecting, type-ahead and undo. It also handles clicks by assistive
 * technology, which come without a press.
 *
 * The word under the pointer is computed from coordinates and the positions of words. The target of
 * the event may be a neighbour, because browsers move taps to a focusable element nearby.
 */

import { setTabStops } from "./span-page.js";
import {
  dragged, endAt, endOfLine, nearest, onNextLine, sidesOf, span, spanAt, textsFrom, typeAhead,
} from "./spans.js";

const DRAG = 5; // px of movement after which a press becomes a drag
const TAP = 10; // px of movement that are allowed in a tap
const LONG = 500; // ms after which a touch is a long press, which opens the browser's menu
const REACH = 16; // maximum px between a press and the word that it selects

export function listenToPointer(answer, on) {
  const { boxes } = answer;
  let press = null;
  let isClickDue = false;

  const end = () => {
    boxes.forEach(({ box }) => box.classList.remove("hl-dragging"));
    press = null;
    answer.restoreTabStops();
  };

  const drop = (event) => {
    if (!press || (event.pointerId ?? press.id) !== press.id) return;
    isClickDue = false;
    end();
    answer.preview(null);
  };

  const down = (event) => {
    if (!event.isPrimary || event.button !== 0) return;
    const { clientX: x, clientY: y, pointerId: id, timeStamp } = event;
    answer.isTouched = event.pointerType === "touch";
    const inside = boxes.findIndex(({ box }) => box.contains(event.target));
    isClickDue = inside >= 0;
    if (inside < 0 && answer.isTouched) return;
    const number = inside < 0 ? boxBeside(boxes, event) : inside;
    // Drags cannot start at the left edge of a focusable token, so no token is focusable while the
    // button is down.
    if (number >= 0) setTabStops(boxes, []);
    const lines = number < 0 ? null : measure(boxes[number]);
    const sides = lines && lines.sidesOf(x, y);
    const isEntered = inside >= 0;
    // A drag that starts at an end of the selected highlight moves that end.
    const active = answer.spans[answer.active];
    const end = isEntered && active?.box === number ? lines.endAt(active, x, y, answer.isTouched) : null;
    press = { number, id, x, y, timeStamp, lines, sides, isEntered, end, isDragging: false };
    // Until the press ends, hide any browser selection in these texts that started elsewhere.
    if (inside < 0) boxes.forEach(({ box }) => box.classList.add("hl-dragging"));
  };
  on(document, "pointerdown", down, { capture: true });

  on(document, "mousedown", (event) => {
    const isOurs = boxes.some(({ box }) => box.contains(event.target));
    // A double click or Shift+click handled by the browser would select other words.
    if (isOurs && (event.detail > 1 || event.shiftKey)) event.preventDefault();
    // A browser selection that starts in the margin would look like a highlight.
    if (press && event.button === 0 && isMargin(boxes, event)) event.preventDefault();
  });
  boxes.forEach(({ box }) => {
    on(box, "dragstart", (event) => event.preventDefault());
    // Prevent scrolling by a finger on a handle, because touch-action has no effect on drawn
    // handles.
    on(box, "touchstart", (event) => press?.end && event.preventDefault(), { passive: false });
  });

  on(document, "pointermove", ({ clientX: x, clientY: y, pointerId }) => {
    if (!press || press.number < 0 || (answer.isTouched && !press.end) || pointerId !== press.id) return;
    if (!press.isDragging && distance(press, x, y) <= DRAG) return;
    press.isEntered ||= isWithin(boxes[press.number].box, x, y);
    if (!press.isEntered) return;
    press.isDragging = true;
    boxes[press.number].box.classList.add("hl-dragging");
    const range = rangeOf(press, x, y);
    answer.preview(range && { box: press.number, ...range });
  });

  on(document, "pointerup", (event) => {
    if (!press || event.pointerId !== press.id) return;
    const { clientX: x, clientY: y, timeStamp } = event;
    const { number, isDragging, lines } = press;
    const made = press;
    end();
    if (number < 0 || !made.isEntered) return forgetSelection(boxes);
    if (made.end && isDragging) {
      const { first, last } = rangeOf(made, x, y);
      answer.previewed = null;
      answer.replace(answer.spans[answer.active], span(number, first, last));
      if (!answer.isTouched) answer.focusToken(number, made.end.fixed === first ? last : first, true);
      return undefined;
    }
    if (answer.isTouched) {
      const isTap = distance(made, x, y) <= TAP && timeStamp - made.timeStamp < LONG;
      const token = isTap && !isSelecting(boxes[number]) ? lines.tokenAt(made.x, made.y) : -1;
      // Touch never focuses a word: the page would jump, and nearby taps would move to the word.
      if (token >= 0) answer.choose(number, token, event.shiftKey);
      return undefined;
    }
    getSelection().removeAllRanges();
    const range = isDragging ? rangeOf(made, x, y) : null;
    const token = lines.tokenAt(made.x, made.y);
    if (isDragging) answer.previewed = null;
    // Focus the word first. Otherwise, the browser would have to lay out the new highlight
    // beforehand.
    const reached = range ? range.last : token;
    if (reached >= 0) answer.focusToken(number, reached, true);
    if (range) answer.commit(number, range.first, range.last);
    else if (token < 0) answer.preview(null);
    else if (isDragging) answer.commit(number, token, token);
    else answer.choose(number, token, event.shiftKey);
    return undefined;
  });

  on(document, "pointercancel", drop);
  on(document, "contextmenu", drop);

  // Assistive technology activates a word with a click, but without a press.
  on(document, "click", (event) => {
    const isOwn = isClickDue && event.detail > 0;
    isClickDue = false;
    if (isOwn) return;
    boxes.forEach(({ elements }, number) => {
      const token = elements.indexOf(event.target);
      if (token >= 0) answer.choose(number, token, event.shiftKey);
    });
  });
}

/** Return the words between a point and the press, or the fixed end of a dragged highlight. */
function rangeOf({ lines, sides, end }, x, y) {
  if (!end) return lines.dragged(sides, x, y);
  return lines.dragged({ before: end.fixed, after: end.fixed }, x - end.dx, y - end.dy);
}

function distance(press, x, y) {
  return Math.hypot(x - press.x, y - press.y);
}

/** Return whether a long press has created a browser selection. */
function isSelecting({ box }) {
  const selection = getSelection();
  return !selection.isCollapsed && box.contains(selection.anchorNode);
}

/** Remove a browser selection that extends from elsewhere into one of the texts. */
function forgetSelection(boxes) {
  const selection = getSelection();
  if (boxes.some(({ box }) => selection.containsNode(box, true))) selection.removeAllRanges();
}

/** Return whether an event is on blank space around the texts that has no other function. */
function isMargin(boxes, { target, clientX }) {
  const isScrollbar = clientX >= document.documentElement.clientWidth;
  return !isScrollbar && boxes.some(({ box }) => target !== box && target.contains(box));
}

/** Return the index of the box next to the margin that was pressed, or -1. */
function boxBeside(boxes, event) {
  if (!isMargin(boxes, event)) return -1;
  return boxes.findIndex(({ box }) => {
    const { top, bottom } = box.getBoundingClientRect();
    return top - REACH < event.clientY && event.clientY < bottom + REACH;
  });
}

function isWithin(element, x, y) {
  const { left, right, top, bottom } = element.getBoundingClientRect();
  return left <= x && x <= right && top <= y && y <= bottom;
}

/**
 * Return the positions of the words in a box. They are measured once per press, during which they
 * do not move.
 */
function measure({ box, elements }) {
  const origin = box.getBoundingClientRect();
  const rects = elements.flatMap((element, token) =>
    [...element.getClientRects()].map(({ left, right, top, bottom }) => ({
      token,
      left: left - origin.left,
      right: right - origin.left,
      top: top - origin.top,
      bottom: bottom - origin.top,
    })),
  );
  const isRightwards = (token) => readsRightwards(elements[token], box);
  // Points are relative to the box, because the page may scroll during the press.
  const point = (x, y) => {
    const { left, top } = box.getBoundingClientRect();
    return [x - left, y - top];
  };
  const isEmpty = rects.length === 0;
  return {
    tokenAt: (x, y) => rects[nearest(rects, ...point(x, y), REACH)]?.token ?? -1,
    sidesOf: (x, y) => (isEmpty ? null : sidesOf(rects, ...point(x, y), isRightwards)),
    endAt: (active, x, y, isTouched) => endAt(rects, active, ...point(x, y), isRightwards, isTouched),
    dragged: (sides, x, y) =>
      isEmpty ? null : dragged(rects, sides, ...point(x, y), isRightwards),
  };
}

/** Return whether the last character of a word is to the right of the first. */
function readsRightwards(element, box) {
  const text = element.firstChild;
  const signs = [...text.textContent];
  const rectOf = (start, end) => {
    const range = document.createRange();
    range.setStart(text, start);
    range.setEnd(text, end);
    return range.getClientRects()[0];
  };
  const first = rectOf(0, signs[0].length);
  const last = rectOf(text.length - signs.at(-1).length, text.length);
  if (signs.length === 1 || !first || !last || first.top + 2 < last.top) {
    return getComputedStyle(box).direction !== "rtl";
  }
  return first.left <= last.left;
}

// --- Keys. Single keys only act while a word of the text has the focus. While a range is pending,
// every movement moves its end.

const TYPING_PAUSE = 700; // ms after which type-ahead starts afresh
const OF_THE_PANEL = ["0", "?"]; // "no answer" and the instructions: turn-keys.js

export function listenToKeys(answer, on) {
  let column = null; // the x position to keep with Up and Down
  let typed = "";
  let typedAt = 0;

  const typeOn = (key) => {
    const now = Date.now();
    typed = now - typedAt < TYPING_PAUSE ? typed + key : key;
    typedAt = now;
    return typed;
  };

  /** Return the token to which a key moves the focus, or -1 if it is not a movement key. */
  const destination = (event, box, from) => {
    const { elements, pieces } = answer.boxes[box];
    const forwards = getComputedStyle(answer.boxes[box].box).direction === "rtl" ? -1 : 1;
    const rects = () => elements.map((element) => element.getClientRects()[0]);
    const whole = event.ctrlKey || event.metaKey;
    switch (event.key) {
      case "ArrowRight":
        return from + forwards;
      case "ArrowLeft":
        return from - forwards;
      case "ArrowUp":
      case "ArrowDown": {
        const all = rects();
        column ??= (all[from].left + all[from].right) / 2;
        return onNextLine(all, from, event.key === "ArrowUp" ? -1 : 1, column);
      }
      case "Home":
        return whole ? 0 : endOfLine(rects(), from, -1);
      case "End":
        return whole ? elements.length - 1 : endOfLine(rects(), from, 1);
      default: {
        // AltGr, which types punctuation on many keyboards, may be reported as Ctrl+Alt.
        const command = (whole || event.altKey) && !event.getModifierState("AltGraph");
        if ([...event.key].length !== 1 || event.key === " " || command) return -1;
        const wanted = typeOn(event.key);
        const found = typeAhead(textsFrom(pieces, [...wanted].length), from, wanted);
        if (found >= 0) return found;
        // If no word starts with it, the key acts as in the panel.
        return wanted === event.key && OF_THE_PANEL.includes(wanted) ? -1 : from;
      }
    }
  };

  /** Handle a letter typed outside the texts by searching from the start of the first text. */
  answer.typeInto = (key) => {
    const box = answer.boxes.findIndex(({ field }) => field === "context");
    const wanted = typeOn(key);
    const found = typeAhead(textsFrom(answer.boxes[box].pieces, [...wanted].length), -1, wanted);
    if (found >= 0) answer.focusToken(box, found);
  };

  const isMovement = (key) => key.startsWith("Arrow") || key === "Home" || key === "End";

  const onToken = (event, box, token) => {
    const { key, shiftKey, ctrlKey, metaKey } = event;
    const place = spanAt(answer.spans, box, token);
    // Reset the typed text, because the next letter starts a new word.
    if (isMovement(key) || [" ", "Enter", "Delete", "Backspace"].includes(key)) typed = "";
    if (key === "Enter" && !ctrlKey && !metaKey) {
      if (answer.pending) answer.commit(box, answer.pending.anchor, answer.pending.focus);
      else if (place >= 0) answer.send();
      else answer.commit(box, token, token);
      return true;
    }
    if (key === " ") {
      if (answer.pending?.box === box) answer.commit(box, answer.pending.anchor, token);
      else answer.begin(box, token);
      return true;
    }
    if (key === "Delete" || key === "Backspace") {
      if (place >= 0) answer.remove(place);
      return true;
    }
    const reached = destination(event, box, token);
    if (reached < 0 && !isMovement(key)) return false;
    if (key !== "ArrowUp" && key !== "ArrowDown") column = null;
    const to = Math.max(0, Math.min(reached, answer.boxes[box].elements.length - 1));
    const pending = answer.pending?.box === box ? answer.pending : null;
    answer.focusToken(box, to);
    if (pending) answer.begin(box, pending.anchor, to);
    else if (shiftKey && isMovement(key)) answer.begin(box, token, to);
    return true;
  };

  const { boxes } = answer;
  boxes.forEach(({ box, elements }, number) => {
    on(box, "keydown", (event) => {
      const token = elements.indexOf(event.target);
      if (token < 0 || event.isComposing) return;
      if (onToken(event, number, token)) event.preventDefault();
    });
    on(box, "focusin", (event) => {
      const token = elements.indexOf(event.target);
      if (token >= 0) answer.roving[number] = token;
    });
  });

  on(answer, "keydown", (event) => {
    const { target, key } = event;
    const letter = event.ctrlKey || event.metaKey ? key.toLowerCase() : "";
    if (target !== answer.typed && (letter === "z" || letter === "y")) {
      event.preventDefault();
      if (letter === "y" || event.shiftKey) answer.redo();
      else answer.undo();
    } else if (target.dataset.chip !== undefined && (key === "Delete" || key === "Backspace")) {
      event.preventDefault();
      answer.removeByChip(Number(target.dataset.chip));
    }
  });

  // Escape works everywhere, because the first word may have been tapped while the focus is
  // elsewhere. Without a selection, it moves the focus from the text to the question.
  on(document, "keydown", (event) => {
    if (event.key !== "Escape") return;
    const isInText = boxes.some(({ box }) => box.contains(event.target));
    if (!answer.pending && (!isInText || document.querySelector("#help[open]"))) return;
    event.preventDefault();
    if (answer.pending) answer.cancel();
    else answer.querySelector("h1[data-focus]").focus({ preventScroll: true });
  });
}
