/**
 * <span-answer>: highlights in a text, made with mouse, touch, keyboard or by typing.
 *
 * The server renders the tokens with their offsets, and all controls of the element. Without this
 * script, the form consists of the typed answer and "no answer". The element stores and paints the
 * highlights, saves them as a draft until they are sent, and writes them into the hidden field
 * `answer`. It starts when it is added to the page, on load or by htmx.
 *
 * Attributes: data-key (the turn), data-max (maximum number of highlights, or empty),
 * data-granularity (char if tokens are characters), data-free (typed answers need not occur in the
 * text; they remain in their field and are sent with the highlights). data-ready is set once the
 * listeners are attached. Events: span-answer:ready, span-answer:change and span-answer:restored.
 */

import { keepDraft, readDraft } from "./drafts.js";
import { gettext, together } from "./sentences.js";
import { listenToKeys, listenToPointer } from "./span-input.js";
import {
  announce, paintMarks, quoted, readBox, renderPanel, setTabStops, writePlainly,
  highlightMessage, limitMessage, replacedMessage, startMessage, exitMessage,
} from "./span-page.js";
import * as pure from "./spans.js";
import "./work.js";

const UNDO_STEPS = 100;
const DOUBLE = 500; // ms between the two presses of a double click or tap

class SpanAnswer extends HTMLElement {
  connectedCallback() {
    // Use the same controller for all listeners, including those on document, because the element
    // may be moved.
    this.connection = new AbortController();
    this.form = this.closest("form");
    this.boxes = [...this.querySelectorAll("[data-text]")].map(readBox);
    this.roving = this.boxes.map(() => 0);
    this.max = Number(this.dataset.max) || Infinity;
    this.noAnswerTick = this.querySelector("[name=no_answer]");
    this.typed = this.querySelector("[name=typed]");
    this.isFree = "free" in this.dataset;
    this.spans = [];
    this.noAnswer = this.noAnswerTick?.defaultChecked ?? false;
    this.active = -1;
    this.pending = null;
    this.lost = "";
    this.isTouched = false; // whether the last press was made with a finger
    this.undoStack = [];
    this.redoStack = [];
    this.querySelectorAll("[data-scripted], [data-add-typed]").forEach((e) => (e.hidden = false));
    this.querySelector("[data-typed]").open = this.isFree || this.typed.value !== "";
    writePlainly(this, this.boxes);
    this.restore();
    this.listen();
    this.render();
    this.restoreTabStops();
    this.dataset.ready = "";
    this.emit("ready");
  }

  disconnectedCallback() {
    this.connection.abort();
    delete this.dataset.ready;
  }

  listen() {
    const on = (target, type, handler, options = {}) =>
      target?.addEventListener(type, handler, { signal: this.connection.signal, ...options });
    listenToPointer(this, on);
    listenToKeys(this, on);
    on(this, "click", (event) => this.press(event));
    on(this.noAnswerTick, "change", () => this.chooseNoAnswer(this.noAnswerTick.checked));
    if (this.isFree) on(this.typed, "input", () => this.settle(this.spans, false, this.active, ""));
    // Use the capture phase, because an incomplete answer must not reach htmx.
    on(this.form, "submit", (event) => this.check(event), { capture: true });
  }

  /** Handle a press on any of the buttons. */
  press(event) {
    const button = event.target.closest("button");
    if (!button) return;
    const { chip, remove, adjust } = button.dataset;
    if (chip !== undefined) this.activate(Number(chip));
    else if (remove !== undefined) this.removeByChip(Number(remove));
    else if (adjust) this.adjust(adjust);
    else if ("undo" in button.dataset || "undoLost" in button.dataset) this.undo();
    else if ("redo" in button.dataset) this.redo();
    else if ("only" in button.dataset) this.commitOnly();
    else if ("cancel" in button.dataset) this.cancel();
    else if ("addTyped" in button.dataset) {
      this.showError(this.addTyped());
      if (!this.typed.value) this.typed.focus();
    }
  }

  // --- What gestures do ------------------------------------------------------------------------

  text(box, first, last) {
    return pure.textOf(this.boxes[box].pieces, first, last);
  }

  textOf = ({ box, first, last }) => this.text(box, first, last);

  /** Handle a click or tap on a word. */
  choose(box, token, extend) {
    const place = pure.spanAt(this.spans, box, token);
    const active = this.spans[this.active];
    if (this.pending?.box === box) {
      const { anchor, at } = this.pending;
      const isDouble = token === anchor && performance.now() - at < DOUBLE && this.dataset.granularity !== "char";
      const { first, last } = isDouble ? pure.nameAt(this.boxes[box].pieces, token) : { first: anchor, last: token };
      this.commit(box, first, last);
    } else if (extend && active?.box === box) {
      const { first, last } = active;
      this.replace(active, pure.span(box, Math.min(first, token), token < first ? last : token));
    } else if (place >= 0 && !this.pending) this.activate(place);
    else this.begin(box, token);
  }

  /** Start a range at this word, or move the end of the range to it. */
  begin(box, anchor, focus = anchor) {
    this.active = -1;
    this.pending = { box, anchor, focus, at: performance.now() };
    this.showError("");
    this.render();
    const { first, last } = pure.span(box, anchor, focus);
    const text = quoted(this.text(box, first, last));
    const isOne = first === last;
    const only = this.querySelector("[data-only]");
    only.hidden = !isOne;
    only.textContent = gettext("Use only %(text)s", { text });
    const bar = isOne ? startMessage(text, this.dataset.granularity) : gettext("Selecting %(text)s.", { text });
    this.querySelector("[data-pending-text]").textContent = bar;
    this.announce(isOne && this.isEmpty ? together(bar, exitMessage(this.isTouched)) : bar);
  }

  /** Highlight just the first word, which is selected. */
  commitOnly() {
    const { box, anchor } = this.pending;
    this.commit(box, anchor, anchor);
    if (!this.isTouched) this.focusToken(box, anchor, true);
  }

  cancel() {
    if (!this.pending) return;
    const { box, focus } = this.pending;
    const fromButton = this.querySelector("[data-pending]").contains(document.activeElement);
    this.pending = null;
    this.render();
    this.announce(gettext("Cancelled."));
    if (fromButton) this.focusToken(box, focus);
  }

  /** Preview the span that releasing the pointer would create, or remove the preview (null). */
  preview(range) {
    this.previewed = range;
    this.paint();
  }

  /** Add the span between two words. */
  commit(box, one, other) {
    this.pending = null;
    this.add(pure.span(box, one, other));
  }

  add(added) {
    const same = this.spans.findIndex(
      (s) => s.box === added.box && s.first === added.first && s.last === added.last,
    );
    if (same >= 0) {
      this.activate(same);
      return true;
    }
    const result = pure.addSpan(this.spans, added, this.max);
    if (!result) {
      this.render();
      this.showError(together(limitMessage(this.max), gettext("Remove one first.")));
      return false;
    }
    const { spans, replaced } = result;
    const message = highlightMessage(this.textOf(added), replaced, spans.length);
    const lost = replacedMessage(this.spans.filter((s) => !spans.includes(s)).map(this.textOf));
    this.change({ spans, active: spans.indexOf(added) }, message, lost);
    return true;
  }

  replace(old, added) {
    const others = this.spans.filter((s) => s !== old);
    const { spans, replaced } = pure.addSpan(others, added);
    const lost = replacedMessage(others.filter((s) => !spans.includes(s)).map(this.textOf));
    this.change({ spans, active: spans.indexOf(added) }, highlightMessage(this.textOf(added), replaced), lost);
  }

  activate(place) {
    this.active = place;
    this.pending = null;
    this.render();
    this.announce(gettext("%(text)s selected. Adjust or remove it.", { text: quoted(this.textOf(this.spans[place])) }));
  }

  remove(place) {
    const message = gettext("Removed %(text)s.", { text: quoted(this.textOf(this.spans[place])) });
    this.change({ spans: pure.removeSpan(this.spans, place), active: -1 }, message, message);
  }

  removeByChip(place) {
    this.remove(place);
    const chips = this.querySelectorAll("[data-chip]");
    const next = chips[place] ?? chips[place - 1] ?? this.noAnswerTick;
    if (next) next.focus();
    else this.focusToken(0, this.roving[0]);
  }

  adjust(how) {
    const { box } = this.spans[this.active];
    const { spans, stopped } = pure.adjustSpan(this.spans, this.active, how, this.boxes[box].tokens.length);
    if (stopped) this.announce(stopped);
    else this.change({ spans, active: this.active }, highlightMessage(this.textOf(spans[this.active])));
  }

  chooseNoAnswer(chosen) {
    this.pending = null;
    if (chosen && this.isFree) this.typed.value = "";
    const message = chosen ? gettext("“No answer” chosen.") : gettext("“No answer” cleared.");
    this.change({ spans: [], noAnswer: chosen, active: -1 }, message, this.spans.length ? message : "");
  }

  /**
   * Convert the typed lines to highlights, and remove them from the field. Return the error for the
   * first line that does not fit, or "".
   */
  addTyped() {
    const lines = this.typed.value.split(/\r?\n/u).map((line) => line.trim());
    while (lines.length) {
      const problem = lines[0] && this.addLine(lines[0]);
      if (problem) {
        this.typed.value = lines.join("\n");
        return problem;
      }
      lines.shift();
    }
    this.typed.value = "";
    return "";
  }

  addLine(line) {
    const { span, problem } = pure.readLine(this.boxes, line);
    return problem || (this.add(span) ? "" : limitMessage(this.max));
  }

  /** Return whether typed text is sent as it is. */
  get typesFreely() {
    return this.isFree && this.typed.value.trim() !== "";
  }

  // --- State ----------------------------------------------------------------------------------

  /**
   * Set the answer. This is the only place in which it changes. `lost` contains removed highlights
   * (see renderPanel).
   */
  change({ spans = this.spans, noAnswer = false, active }, message, lost = "") {
    this.lost = lost;
    this.undoStack.push({ spans: this.spans, noAnswer: this.noAnswer });
    this.redoStack = [];
    if (this.undoStack.length > UNDO_STEPS) this.undoStack.shift();
    this.settle(spans, noAnswer, active, message);
  }

  undo() {
    this.step(this.undoStack, this.redoStack, gettext("Undone."));
  }

  redo() {
    this.step(this.redoStack, this.undoStack, gettext("Redone."));
  }

  /** Restore the last state from one stack, and push the current state onto the other. */
  step(from, to, message) {
    const state = from.pop();
    if (!state) return;
    to.push({ spans: this.spans, noAnswer: this.noAnswer });
    this.pending = null;
    this.lost = "";
    const focused = /** @type {HTMLButtonElement} */ (document.activeElement);
    this.settle(state.spans, state.noAnswer, -1, message);
    // The focused button may have become disabled.
    if (this.contains(focused) && focused.disabled) this.focusToken(0);
  }

  settle(spans, noAnswer, active, message) {
    Object.assign(this, { spans, noAnswer, active });
    this.showError("");
    this.render();
    const payload = this.payload();
    keepDraft(this.dataset.key, this.isFree ? { ...payload, typed: this.typed.value } : payload);
    this.announce(message);
    this.emit("change", { spans: payload.spans, no_answer: payload.no_answer });
  }

  payload() {
    return pure.toPayload(this.spans, this.noAnswer, this.boxes);
  }

  restore() {
    const draft = readDraft(this.dataset.key);
    const restored = pure.fromPayload(draft, this.boxes);
    if (this.isFree && draft?.typed) this.typed.value = draft.typed;
    if (!restored || (!restored.spans.length && !restored.noAnswer && !this.typesFreely)) return;
    Object.assign(this, restored);
    this.announce(gettext("Your unfinished answer was restored."));
    this.emit("restored");
  }

  /** Before sending, show what is missing, or write the answer into its field. */
  check(event) {
    const problem = this.missing();
    if (!problem) {
      this.querySelector("[name=answer]").value = JSON.stringify(this.payload());
      return;
    }
    event.preventDefault();
    event.stopImmediatePropagation();
    this.showError(problem);
    if (this.typed.value) this.typed.focus();
    this.querySelector("[data-error]").scrollIntoView({ block: "nearest" });
  }

  /** Handle Enter on a highlighted word like Submit, with the same checks. */
  send() {
    this.querySelector("[data-submit]").click();
  }

  missing() {
    if (this.pending && !this.takeOne()) return this.unfinished();
    const problem = this.isFree ? "" : this.addTyped();
    if (problem) {
      this.querySelector("[data-typed]").open = true;
      return problem;
    }
    if (!this.isEmpty) return "";
    return this.noAnswerTick
      ? gettext("Highlight at least one answer, or choose “No answer”.")
      : gettext("Highlight at least one answer.");
  }

  /** Return whether the answer is empty, apart from any selection in progress. */
  get isEmpty() {
    return this.spans.length === 0 && !this.noAnswer && !this.typesFreely;
  }

  /** Return whether a single word is selected and the answer is empty, so that Submit uses this word. */
  takeOne() {
    const { box, anchor, focus } = this.pending;
    if (anchor !== focus || !this.isEmpty) return false;
    this.commit(box, anchor, anchor);
    return true;
  }

  /** Return the question about a selection in progress. */
  unfinished() {
    const { box, anchor, focus } = this.pending;
    if (anchor !== focus) return gettext("Finish or cancel the highlight you started.");
    return gettext("You started to highlight %(text)s. Keep it or cancel?", { text: quoted(this.text(box, anchor, anchor)) });
  }

  // --- The page -------------------------------------------------------------------------------

  render() {
    this.paint();
    renderPanel(this);
    this.toggleAttribute("data-complete", this.pending !== null || !this.isEmpty);
  }

  paint() {
    const pending = this.previewed ?? (this.pending && this.pendingSpan());
    const marks = this.spans.map((s, place) => ({
      ...s,
      look: place === this.active ? "hl-chosen hl-active" : "hl-chosen",
    }));
    // Paint the pending range first, because it takes precedence over highlights.
    paintMarks(this.boxes, pending ? [{ ...pending, look: "hl-pending" }, ...marks] : marks);
  }

  pendingSpan() {
    return pure.span(this.pending.box, this.pending.anchor, this.pending.focus);
  }

  restoreTabStops() {
    setTabStops(this.boxes, this.roving);
  }

  focusToken(box, token = this.roving[box], preventScroll = false) {
    this.roving[box] = token;
    this.restoreTabStops();
    this.boxes[box].elements[token]?.focus({ preventScroll });
  }

  showError(text) {
    const error = this.querySelector("[data-error]");
    if (error.textContent !== text) error.textContent = text;
  }

  announce(message) {
    announce(this.querySelector("[data-live]"), message);
  }

  emit(name, detail = {}) {
    this.dispatchEvent(new CustomEvent(`span-answer:${name}`, { bubbles: true, detail }));
  }
}

customElements.define("span-answer", SpanAnswer);
