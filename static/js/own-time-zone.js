/**
 * A button that offers the time zone of the browser next to the list of all time zones.
 *
 *   <own-time-zone><select name="time_zone">...</select></own-time-zone>
 *
 * The user must choose it, so that displayed times do not change during travel.
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
