/**
 * Offers the browser's own time zone beside the list of all.
 *
 *   <own-time-zone><select name="time_zone">...</select></own-time-zone>
 *
 * Nothing is chosen by itself: a laptop on a journey does not change what its owner reads.
 */

class OwnTimeZone extends HTMLElement {
  connectedCallback() {
    const list = this.querySelector("select");
    const own = Intl.DateTimeFormat().resolvedOptions().timeZone;
    const option = list && [...list.options].find(({ value }) => value === own);
    if (!option || option.selected) return;
    const button = document.createElement("button");
    button.type = "button";
    button.className = "compact secondary outline";
    button.textContent = `Choose this browser's: ${option.text}`;
    button.addEventListener("click", () => {
      list.value = own;
      list.focus();
      button.remove();
    });
    list.after(button);
  }
}

customElements.define("own-time-zone", OwnTimeZone);
