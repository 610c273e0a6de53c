/**
 * <label-search>: a field above a long list of labels, which filters them by name.
 *
 * The list consists of the native radio buttons of <choice-answer>, so arrow keys, touch and screen
 * readers work. Without this script, the whole list is shown. Down moves from the field into the
 * list, Enter chooses the label marked as nearest, and Escape clears the field.
 */

import { nearest, wanted } from "./labels.js";
import { ngettext } from "./sentences.js";

class LabelSearch extends HTMLElement {
  connectedCallback() {
    this.connection = new AbortController();
    const { signal } = this.connection;
    this.answer = /** @type {any} */ (this.closest("choice-answer"));
    this.field = this.querySelector("input");
    this.choices = [...this.answer.querySelectorAll("label.turn-choice")].map((element) => ({
      element,
      radio: element.querySelector("input"),
      name: element.querySelector("input").value,
    }));
    this.field.addEventListener("input", () => this.filter(), { signal });
    this.field.addEventListener("keydown", (event) => this.key(event), { signal });
    this.answer.addEventListener("change", () => this.filter(), { signal });
    this.filter();
    // The label in a restored draft may be far down the list.
    this.choices.find(({ radio }) => radio.checked)?.element.scrollIntoView({ block: "nearest" });
    this.dataset.ready = "";
  }

  disconnectedCallback() {
    this.connection.abort();
    delete this.dataset.ready;
  }

  /** Show the labels that match, and the one that is chosen. */
  filter() {
    const names = this.choices.map(({ name }) => name);
    const fits = new Set(wanted(names, this.field.value));
    const first = this.field.value.trim() ? nearest(names, this.field.value) : null;
    for (const { element, radio, name } of this.choices) {
      element.hidden = !fits.has(name) && !radio.checked;
      element.toggleAttribute("data-nearest", name === first && !radio.checked);
    }
    this.showCount(fits.size);
  }

  showCount(number) {
    const place = this.querySelector("[data-found]");
    const text = ngettext("%(count)s label", "%(count)s labels", number);
    if (place.textContent !== text) place.textContent = text;
  }

  /** @param {KeyboardEvent} event */
  key(event) {
    if (event.isComposing || event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === "Escape" && this.field.value) {
      this.field.value = "";
      this.filter();
    } else if (event.key === "ArrowDown") {
      this.enter();
    } else if (event.key === "Enter" && this.field.value.trim()) {
      this.choose();
    } else {
      return;
    }
    event.preventDefault();
  }

  /** Move the focus from the field to the chosen label or, if none is chosen, to the nearest one. */
  enter() {
    const shown = this.choices.filter(({ element }) => !element.hidden);
    const there = shown.find(({ radio }) => radio.checked) ?? this.marked ?? shown[0];
    there?.radio.focus();
  }

  get marked() {
    return this.choices.find(({ element }) => "nearest" in element.dataset);
  }

  /** Choose the nearest label, and focus it so that the next Enter submits it. */
  choose() {
    const found = this.marked ?? this.choices.find(({ radio }) => radio.checked);
    if (!found) return;
    found.radio.focus();
    if (found.radio.checked) return;
    found.radio.click();
    this.answer.advance();
  }

  /** Insert a letter that was typed elsewhere in the turn. @param {string} letter */
  typeInto(letter) {
    this.field.focus();
    this.field.value += letter;
    this.filter();
  }
}

customElements.define("label-search", LabelSearch);
