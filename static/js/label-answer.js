/**
 * <label-answer>: an answer by one label. The radio buttons are native and work without it; it adds
 * a draft, and a sentence when nothing is chosen. Keys of the whole turn are in work.js.
 */

import { keepDraft, readDraft } from "./drafts.js";
import { gettext } from "./sentences.js";

class LabelAnswer extends HTMLElement {
  connectedCallback() {
    this.connection = new AbortController();
    const { signal } = this.connection;
    const form = this.closest("form");
    this.radios = [...this.querySelectorAll("[name=label]")];
    // The sentence in the page replaces the browser's own bubble.
    form.noValidate = true;
    this.querySelectorAll("[data-scripted]").forEach((e) => (e.hidden = false));
    const draft = readDraft(this.dataset.key);
    const kept = this.radios.find((radio) => radio.value === draft?.label);
    if (kept) {
      kept.checked = true;
      this.querySelector("[data-live]").textContent = gettext("Your unfinished answer was restored.");
    }
    this.addEventListener("change", () => this.keep(), { signal });
    this.addEventListener("click", (event) => this.click(event), { signal });
    form.addEventListener("submit", (event) => this.check(event), { signal, capture: true });
    this.dataset.ready = "";
  }

  disconnectedCallback() {
    this.connection.abort();
    delete this.dataset.ready;
  }

  get chosen() {
    return this.radios.find((radio) => radio.checked);
  }

  keep() {
    this.querySelector("[data-error]").textContent = "";
    this.radios.forEach((radio) => radio.setAttribute("aria-invalid", "false"));
    keepDraft(this.dataset.key, { v: 1, label: this.chosen?.value ?? "" });
  }

  /** One press of a pointer chooses; arrow keys and the second half of a double click do not. */
  click(event) {
    if (event.detail !== 1 || !event.target.closest("label")) return;
    setTimeout(() => this.advance());
  }

  /** Where the study says so, a choice is the answer. */
  advance() {
    if (!("advance" in this.dataset) || !this.chosen || !this.isConnected) return;
    const form = this.closest("form");
    form.requestSubmit(form.querySelector("[data-submit]"));
  }

  check(event) {
    if (this.chosen) return;
    event.preventDefault();
    event.stopImmediatePropagation();
    this.querySelector("[data-error]").textContent = gettext("Choose one of the labels.");
    this.radios.forEach((radio) => radio.setAttribute("aria-invalid", "true"));
    this.radios.find((radio) => !radio.closest("[hidden]"))?.focus();
  }
}

customElements.define("label-answer", LabelAnswer);
