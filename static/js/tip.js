/**
 * Shows the meaning of a word or number next to it on hover. Escape closes it.
 *
 *   <tip-word for="x">SD</tip-word> ... <dd id="x">Standard deviation ...</dd>
 *   <tip-word>75.0 ± 35.4 <span popover>Over 2 annotators ...</span></tip-word>
 *   <tip-word><button aria-describedby="y">3</button><span id="y" popover>3 of 18 ...</span></tip-word>
 *
 * Table headings react only to pointers and need no tab stops, because keyboard, touch and screen
 * readers use the list below the table, from which a heading shows its line. A button also opens on
 * focus. The text is a popover, so that it is on top of the page and a scrolling table never cuts
 * it off.
 */

const GAP = 8; // pixels to the edge of the window

class TipWord extends HTMLElement {
  connectedCallback() {
    this.button = this.querySelector("button");
    this.text = /** @type {HTMLElement | null} */ (this.querySelector("[popover]"));
    if (!("popover" in HTMLElement.prototype)) return;
    this.place = this.place.bind(this); // one function, so that the listener can be removed
    this.addEventListener("pointerenter", () => this.open());
    this.addEventListener("pointerleave", () => this.close());
    if (!this.button) return;
    this.button.addEventListener("focus", () => this.open());
    this.button.addEventListener("blur", () => this.close());
    // The browser's own click would close the popover that hovering has opened.
    this.button.addEventListener("click", (event) => {
      event.preventDefault();
      this.open();
    });
  }

  disconnectedCallback() {
    this.follow(false);
  }

  /** Return a popover with a copy of the line in the list below the table. */
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

  /** Follow the word while the page scrolls or changes size. @param {boolean} on */
  follow(on) {
    const change = on ? addEventListener : removeEventListener;
    change("scroll", this.place, { capture: true, passive: true });
    change("resize", this.place);
  }

  /** Place the popover below the word and inside the window, or above if space is insufficient. */
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
