/**
 * The base of all answers that are given in the panel: a draft, "no answer", and the message if
 * something is missing. The controls are native and work without scripts. Keys of the whole turn
 * are in work.js.
 *
 * A kind of answer extends `AnswerElement`, reads and writes its controls as `value`, and returns
 * its error as `problem`. Attributes: data-key (the turn), data-missing (the server's message for a
 * missing answer). data-ready marks that it listens, data-complete that an answer can be submitted.
 */

import { keepDraft, readDraft } from "./drafts.js";
import { gettext } from "./sentences.js";

export class AnswerElement extends HTMLElement {
  connectedCallback() {
    this.connection = new AbortController();
    const { signal } = this.connection;
    this.form = this.closest("form");
    this.none = this.querySelector("[name=no_answer]");
    // The message in the page replaces the browser's own bubble.
    this.form.noValidate = true;
    this.querySelectorAll("[data-scripted]").forEach((e) => (e.hidden = false));
    this.begin(signal);
    if (this.restore(readDraft(this.dataset.key))) {
      this.announce(gettext("Your unfinished answer was restored."));
    }
    this.addEventListener("input", (event) => this.hear(event.target), { signal });
    this.form.addEventListener("submit", (event) => this.check(event), { signal, capture: true });
    this.show();
    this.dataset.ready = "";
  }

  disconnectedCallback() {
    this.connection.abort();
    delete this.dataset.ready;
  }

  // --- Overridden by each kind of answer ----------------------------------------------------

  /** Connect its own listeners and controls. @param {AbortSignal} signal */
  begin(signal) {}

  /** The controls of the answer. @returns {HTMLInputElement[]} */
  get fields() {
    return [];
  }

  /** The answer; "" or [] if it is empty. @returns {string | string[]} */
  get value() {
    return "";
  }

  set value(given) {}

  /** The error of the answer, in the server's words; "" if there is none. */
  problem() {
    return "";
  }

  /** Called after each change. */
  show() {
    this.toggleAttribute("data-complete", this.isComplete);
  }

  // --- Shared by all kinds ----------------------------------------------------------------------------

  get isComplete() {
    return this.value.length > 0 || this.none?.checked === true;
  }

  /** @param {object | null} draft */
  restore(draft) {
    if (draft?.no_answer && this.none) this.none.checked = true;
    else if (draft?.value?.length) this.value = draft.value;
    return draft !== null && this.isComplete;
  }

  /** Controls without a name are not sent, such as a search field. @param {any} target */
  hear(target) {
    if (target.name) this.changed(target);
  }

  /** The one place where the answer changes. @param {HTMLElement} [target] */
  changed(target) {
    if (target === this.none) this.choosesNone();
    else if (this.none && this.value.length) this.none.checked = false;
    this.tellProblem("");
    keepDraft(this.dataset.key, { v: 1, no_answer: this.none?.checked ?? false, value: this.value });
    this.show();
  }

  /** "No answer" removes the answer, and restores it when it is cleared. */
  choosesNone() {
    if (this.none.checked) {
      this.taken = this.value;
      this.value = Array.isArray(this.value) ? [] : "";
    } else if (this.taken?.length) {
      this.value = this.taken;
    }
  }

  /** Keep an incomplete answer from htmx. @param {Event} event */
  check(event) {
    const problem = this.isComplete ? this.problem() : this.dataset.missing;
    if (!problem) return;
    event.preventDefault();
    event.stopImmediatePropagation();
    this.tellProblem(problem);
    (this.fields.find((field) => !field.closest("[hidden]")) ?? this.fields[0]).focus();
  }

  /** @param {string} problem */
  tellProblem(problem) {
    const place = this.querySelector("[data-error]");
    if (place.textContent !== problem) place.textContent = problem;
    this.fields.forEach((field) => field.setAttribute("aria-invalid", String(problem !== "")));
  }

  /** @param {string} said */
  announce(said) {
    this.querySelector("[data-live]").textContent = said;
  }
}
