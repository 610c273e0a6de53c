/**
 * The base class of answers that are given in the panel. It handles drafts, "no answer", and the
 * message for a missing answer. The controls are native and work without scripts. Keys that apply
 * to the whole turn are handled in work.js.
 *
 * Each answer type extends `AnswerElement`, reads and writes its controls through `value`, and
 * returns its error from `problem`. Attributes: data-key (the turn), data-missing (the server's
 * message for a missing answer). data-ready is set once the listeners are attached, and
 * data-complete whenever an answer can be submitted.
 */

import { keepDraft, readDraft } from "./drafts.js";
import { gettext } from "./sentences.js";
import "./work.js";

export class AnswerElement extends HTMLElement {
  connectedCallback() {
    this.connection = new AbortController();
    const { signal } = this.connection;
    this.form = this.closest("form");
    this.none = this.querySelector("[name=no_answer]");
    // The message in the page replaces the browser's bubble.
    this.form.noValidate = true;
    this.querySelectorAll("[data-scripted]").forEach((e) => (e.hidden = false));
    this.begin(signal);
    if (this.restore(readDraft(this.dataset.key))) {
      this.announce(gettext("Your unfinished answer was restored."));
    }
    this.addEventListener("input", (event) => this.handleInput(event.target), { signal });
    this.form.addEventListener("submit", (event) => this.check(event), { signal, capture: true });
    this.show();
    this.dataset.ready = "";
  }

  disconnectedCallback() {
    this.connection.abort();
    delete this.dataset.ready;
  }

  // --- Overridden by each answer type ---------------------------------------------------------

  /** Connect the listeners and controls of this answer type. @param {AbortSignal} signal */
  begin(signal) {}

  /** Return the controls for the answer. @returns {HTMLInputElement[]} */
  get fields() {
    return [];
  }

  /** Return the answer, or "" or [] if it is empty. @returns {string | string[]} */
  get value() {
    return "";
  }

  set value(given) {}

  /** Return the error in the answer, in the server's words, or "" if it is valid. */
  problem() {
    return "";
  }

  /** Called after each change. */
  show() {
    this.toggleAttribute("data-complete", this.isComplete);
  }

  // --- Shared by all answer types ------------------------------------------------------------

  get isComplete() {
    return this.value.length > 0 || this.none?.checked === true;
  }

  /** @param {object | null} draft */
  restore(draft) {
    if (draft?.no_answer && this.none) this.none.checked = true;
    else if (draft?.value?.length) this.value = draft.value;
    return draft !== null && this.isComplete;
  }

  /**
   * Handle a change to a control. Controls without a name, such as a search field, are ignored.
   * @param {any} target
   */
  handleInput(target) {
    if (target.name) this.changed(target);
  }

  /**
   * Handle a change. This is the only place in which the answer changes.
   * @param {HTMLElement} [target]
   */
  changed(target) {
    if (target === this.none) this.toggleNone();
    else if (this.none && this.value.length) this.none.checked = false;
    this.showProblem("");
    keepDraft(this.dataset.key, { v: 1, no_answer: this.none?.checked ?? false, value: this.value });
    this.show();
  }

  /** Remove the answer when "No answer" is checked, and restore it when that is unchecked. */
  toggleNone() {
    if (this.none.checked) {
      this.removedAnswer = this.value;
      this.value = Array.isArray(this.value) ? [] : "";
    } else if (this.removedAnswer?.length) {
      this.value = this.removedAnswer;
    }
  }

  /** Keep htmx from sending an incomplete answer. @param {Event} event */
  check(event) {
    const problem = this.isComplete ? this.problem() : this.dataset.missing;
    if (!problem) return;
    event.preventDefault();
    event.stopImmediatePropagation();
    this.showProblem(problem);
    (this.fields.find((field) => !field.closest("[hidden]")) ?? this.fields[0]).focus();
  }

  /** @param {string} problem */
  showProblem(problem) {
    const place = this.querySelector("[data-error]");
    if (place.textContent !== problem) place.textContent = problem;
    this.fields.forEach((field) => field.setAttribute("aria-invalid", String(problem !== "")));
  }

  /** @param {string} message */
  announce(message) {
    this.querySelector("[data-live]").textContent = message;
  }
}
