/**
 * Shows the meaning of a word or a number next to it on hover; Escape closes it.
 *
 *   <tip-word for="x">SD</tip-word> ... <dd id="x">Standard deviation ...</dd>
 *   <tip-word>75.0 ± 35.4 <span popover>Over 2 annotators ...</span></tip-word>
 *   <tip-word><button aria-describedby="y">3</button><span id="y" popover>3 of 18 ...</span></tip-word>
 *
 * Table headings react only to pointers: keyboard, touch and screen readers use the list below the
 * table, from which a heading shows its line, so headings need no tab stops. A button also opens on
 * focus. The text is a popover: on top of the page, never cut off by a scrolling table.
 */

const GAP = 8; // pixels to the edge of the window

class TipWord extends HTMLElement {
  connectedCallback() {
    this.button = this.querySelector("button");
    this.text = /** @type {HTMLElement | null} */ (this.querySelector("[popover]"));
    if (!("popover" in HTMLElement.prototype)) return;
    this.place = this.place.bind(this); // a single function, so that it can be removed
    this.addEventListener("pointerenter", () => this.open());
    this.addEventListener("pointerleave", () => this.close());
    if (!this.button) return;
    this.button.addEventListener("focus", () => this.open());
    this.button.addEventListener("blur", () => this.close());
    // The browser's click would close the popover that hovering opened.
    this.button.addEventListener("click", (event) => {
      event.preventDefault();
      this.open();
    });
  }

  disconnectedCallback() {
    this.follow(false);
  }

  /** A popover with a copy of the line of the list below the table. */
  copied() {
    const line = document.getElementById(this.getAttribute("for") ?? "");
    if (!line) return null;
    const text = document.createElement("span");
    text.className = "tip-text";
    text.popover = "auto";
    text.textContent = line.textContent;
    this.append(text);
    return text;
  }

  open() {
    this.text ??= this.copied();
    if (!this.text) return;
    if (!this.text.matches(":popover-open")) this.text.showPopover();
    this.follow(true);
    this.place();
  }

  close() {
    const isRead = this.matches(":hover") || (this.button && document.activeElement === this.button);
    if (isRead) return;
    if (this.text?.matches(":popover-open")) this.text.hidePopover();
    this.follow(false);
  }

  /** Follow the word while the page scrolls or changes its size. @param {boolean} on */
  follow(on) {
    const change = on ? addEventListener : removeEventListener;
    change("scroll", this.place, { capture: true, passive: true });
    change("resize", this.place);
  }

  /** Place it below the word, or above if there is not enough room, within the window. */
  place() {
    if (!this.text) return;
    const word = (this.button ?? this).getBoundingClientRect();
    const { clientWidth, clientHeight } = document.documentElement;
    const { style, offsetWidth, offsetHeight } = this.text;
    const fits = word.bottom + offsetHeight <= clientHeight;
    style.inset = "auto";
    style.margin = "0";
    style.left = `${Math.max(GAP, Math.min(word.left, clientWidth - offsetWidth - GAP))}px`;
    style.top = `${fits ? word.bottom : Math.max(0, word.top - offsetHeight)}px`;
  }
}

customElements.define("tip-word", TipWord);
