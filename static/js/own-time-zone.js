/**
 * A button that offers the browser's time zone, next to the list of all time zones.
 *
 *   <own-time-zone><select name="time_zone">...</select></own-time-zone>
 *
 * Users must choose it, so that displayed times don't change when they travel.
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
    button.textContent = `Use this browser's time zone: ${option.text}`;
    button.addEventListener("click", () => {
      list.value = own;
      list.focus();
      button.remove();
    });
    list.after(button);
  }
}

customElements.define("own-time-zone", OwnTimeZone);
