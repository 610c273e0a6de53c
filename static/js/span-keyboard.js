/**
 * Keys for <span-answer>: moving word by word and by line, selecting, typing ahead, undo.
 *
 * Single keys act only while a word of the text has the focus. While a range is pending, every
 * movement moves its end.
 */

import { endOfLine, onNextLine, spanAt, textsFrom, typeAhead } from "./spans.js";

const TYPING_PAUSE = 700; // ms after which type-ahead restarts
const OF_THE_PANEL = ["0", "?"]; // "no answer" and the instructions: turn-keys.js

export function listenToKeys(answer, on) {
  let column = null; // the x position for Up and Down
  let typed = "";
  let typedAt = 0;

  const typeOn = (key) => {
    const now = Date.now();
    typed = now - typedAt < TYPING_PAUSE ? typed + key : key;
    typedAt = now;
    return typed;
  };

  /** The target token of a movement key, or -1 for other keys. */
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
        // AltGr, which types punctuation on many keyboards, may look like Ctrl+Alt.
        const command = (whole || event.altKey) && !event.getModifierState("AltGraph");
        if ([...event.key].length !== 1 || event.key === " " || command) return -1;
        const wanted = typeOn(event.key);
        const found = typeAhead(textsFrom(pieces, [...wanted].length), from, wanted);
        if (found >= 0) return found;
        // If no word begins with it, the key acts as in the panel.
        return wanted === event.key && OF_THE_PANEL.includes(wanted) ? -1 : from;
      }
    }
  };

  /** Take a letter typed outside the texts: search from the beginning of the first text. */
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
    // Reset the typed text: the next letter begins another word.
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

  // A first word may have been tapped, with the focus elsewhere, so Esc works everywhere. Without a
  // selection it moves the focus from the text to the question.
  on(document, "keydown", (event) => {
    if (event.key !== "Escape") return;
    const isInText = boxes.some(({ box }) => box.contains(event.target));
    if (!answer.pending && (!isInText || document.querySelector("#help[open]"))) return;
    event.preventDefault();
    if (answer.pending) answer.cancel();
    else answer.querySelector("h1[data-focus]").focus({ preventScroll: true });
  });
}
