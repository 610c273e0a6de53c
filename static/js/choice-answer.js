/**
 * <choice-answer>: an answer given with radio buttons (a label or a single option) or with check
 * boxes (several options).
 */

import { AnswerElement } from "./answer.js";
import { ngettext } from "./sentences.js";

class ChoiceAnswer extends AnswerElement {
  begin(signal) {
    this.addEventListener("click", (event) => this.click(event), { signal });
  }

  get fields() {
    return [...this.querySelectorAll(".turn-choice input")];
  }

  /**
   * Return the field and value of each checked control. Radio buttons share a name, while check
   * boxes share a value.
   */
  get value() {
    return this.fields.filter((field) => field.checked).map((field) => `${field.name}=${field.value}`);
  }

  set value(given) {
    for (const field of this.fields) field.checked = given.includes(`${field.name}=${field.value}`);
  }

  show() {
    super.show();
    const place = this.querySelector("[data-count]");
    if (place) place.textContent = ngettext("%(count)s chosen", "%(count)s chosen", this.value.length);
  }

  /** Announce a choice made by pressing its digit, because the focus is elsewhere. */
  changed(target) {
    super.changed(target);
    if (target === this.none || target === document.activeElement) return;
    const text = target.labels[0].lastElementChild.textContent.replace(/\s+/gu, " ");
    this.announce(target.checked ? text : ngettext("%(count)s chosen", "%(count)s chosen", this.value.length));
  }

  /** Advance after a single press of a pointer, but not after arrow keys or a second click. */
  click(event) {
    if (event.detail !== 1 || !event.target.closest("label.turn-choice")) return;
    setTimeout(() => this.advance());
  }

  /** Submit the choice immediately if the design says so. */
  advance() {
    if (!("advance" in this.dataset) || !this.isComplete || !this.isConnected) return;
    this.form.requestSubmit(this.form.querySelector("[data-submit]"));
  }
}

customElements.define("choice-answer", ChoiceAnswer);
