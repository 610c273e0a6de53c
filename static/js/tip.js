/**
 * What a word or a number means: opens on hover and on focus, closes on Escape.
 *
 *   <tip-word><button popovertarget="x" aria-describedby="x">SD</button>
 *   <span id="x" popover>Standard deviation ...</span></tip-word>
 *
 * Anything else inside, such as words that the number belongs to, opens it on hover too.
 * The text is a popover of the browser: above everything, never cut off by a table that scrolls.
 * Without JavaScript a click opens it; a browser without popovers shows it beside the word.
 */

const GAP = 8; // pixels to the edge of the window

class TipWord extends HTMLElement {
  connectedCallback() {
    this.word = this.querySelector("button");
    this.text = this.querySelector("[popover]");
    if (!this.text?.showPopover) return;
    this.place = this.place.bind(this); // one function, so that it can be taken off again
    this.addEventListener("pointerenter", () => this.open());
    this.addEventListener("pointerleave", () => this.close());
    this.word.addEventListener("focus", () => this.open());
    this.word.addEventListener("blur", () => this.close());
    // The browser's own click would close what hovering has just opened.
    this.word.addEventListener("click", (event) => {
      event.preventDefault();
      this.open();
    });
    this.text.addEventListener("toggle", (event) => {
      const change = event.newState === "open" ? addEventListener : removeEventListener;
      change("scroll", this.place, { capture: true, passive: true });
      change("resize", this.place);
    });
  }

  disconnectedCallback() {
    if (!this.place) return;
    removeEventListener("scroll", this.place, { capture: true });
    removeEventListener("resize", this.place);
  }

  open() {
    if (!this.text.matches(":popover-open")) this.text.showPopover();
    this.place();
  }

  close() {
    const isRead = this.matches(":hover") || document.activeElement === this.word;
    if (!isRead && this.text.matches(":popover-open")) this.text.hidePopover();
  }

  /** Under the word, or over it where there is no room; within the window. */
  place() {
    const word = this.word.getBoundingClientRect();
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
