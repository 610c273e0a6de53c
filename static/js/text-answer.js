/**
 * <text-answer>: a typed text of one or more lines, whose length is displayed.
 *
 * Attributes of the field: data-longest (characters), data-no-paste, lang.
 */

import { AnswerElement } from "./answer.js";
import { refusePastes } from "./pasting.js";
import { ngettext } from "./sentences.js";
import { isNearEnd, lengthOf, trimmed, wordsOf } from "./texts.js";

class TextAnswer extends AnswerElement {
  begin(signal) {
    this.field = this.querySelector("[name=text]");
    this.longest = Number(this.field.dataset.longest);
    refusePastes(this, this.field, signal);
  }

  get fields() {
    return [this.field];
  }

  /** Return the text as typed. Blanks around it are removed by the server. */
  get value() {
    return trimmed(this.field.value) ? this.field.value : "";
  }

  set value(given) {
    this.field.value = given;
  }

  problem() {
    const number = lengthOf(this.value);
    if (number <= this.longest) return "";
    return ngettext(
      "The answer can have at most %(limit)s character. Yours has %(number)s.",
      "The answer can have at most %(limit)s characters. Yours has %(number)s.",
      this.longest,
      { limit: this.longest, number },
    );
  }

  show() {
    super.show();
    const length = lengthOf(this.value);
    const place = this.querySelector("[data-length]");
    const isNear = isNearEnd(length, this.longest);
    // Announce the number only when close to the limit, not after each word.
    place.setAttribute("aria-live", isNear ? "polite" : "off");
    place.textContent = isNear ? this.left(length) : this.words();
    place.toggleAttribute("data-over", length > this.longest);
  }

  /** Return how many characters are left. */
  left(length) {
    const left = this.longest - length;
    return left < 0
      ? ngettext("%(count)s character too many", "%(count)s characters too many", -left)
      : ngettext("%(count)s character left", "%(count)s characters left", left);
  }

  words() {
    const isLong = this.field.matches("textarea");
    return isLong ? ngettext("%(count)s word", "%(count)s words", wordsOf(this.value, this.field.lang)) : "";
  }

  /** Insert a letter that was typed elsewhere in the turn. @param {string} key */
  typeInto(key) {
    this.field.focus();
    this.field.value += key;
    this.changed();
  }
}

customElements.define("text-answer", TextAnswer);
