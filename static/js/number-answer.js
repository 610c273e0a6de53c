/**
 * <number-answer>: a number in a field, which can be changed by one step with arrow keys and
 * buttons.
 *
 * Attributes: data-lowest, data-highest, data-step. Each is only set if it is on the card.
 */

import { AnswerElement } from "./answer.js";
import { problemOf, stepped, stripped } from "./numbers.js";
import { refusePastes } from "./pasting.js";

class NumberAnswer extends AnswerElement {
  begin(signal) {
    this.field = this.querySelector("[name=number]");
    this.field.addEventListener("keydown", (event) => this.key(event), { signal });
    for (const button of this.querySelectorAll("[data-by]")) {
      button.addEventListener("click", () => this.go(Number(button.dataset.by)), { signal });
    }
    refusePastes(this, this.field, signal);
  }

  get fields() {
    return [this.field];
  }

  get value() {
    return stripped(this.field.value);
  }

  set value(given) {
    this.field.value = given;
  }

  problem() {
    return this.value && problemOf(this.value, this.dataset); // empty only if there is no answer
  }

  key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey || event.shiftKey) return;
    if (event.key !== "ArrowUp" && event.key !== "ArrowDown") return;
    event.preventDefault();
    this.go(event.key === "ArrowUp" ? 1 : -1);
  }

  /** Change the number by one step and announce it, because the focus may be on a button. */
  go(by) {
    this.value = stepped(this.value, this.dataset, by);
    this.changed();
    this.announce(this.value);
  }

  /** Insert a digit that was typed elsewhere in the turn. @param {string} key */
  typeInto(key) {
    this.field.focus();
    this.field.value += key;
    this.changed();
  }
}

customElements.define("number-answer", NumberAnswer);
