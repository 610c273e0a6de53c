/** A button that copies a code or a link. It is only shown if the browser lets pages copy. */

import { gettext } from "./sentences.js";

document.querySelectorAll("[data-copy]").forEach((place) => {
  const button = place.querySelector("[data-copy-button]");
  if (!navigator.clipboard) return;
  button.hidden = false;
  button.addEventListener("click", async () => {
    const source = place.querySelector("input") ?? place.querySelector("[data-copy-text]");
    let message = gettext("Copied.");
    try {
      await navigator.clipboard.writeText(source.value.trim());
    } catch {
      message = gettext("Not copied. Please select the text and copy it.");
    }
    place.querySelector("[data-copied]").textContent = message;
  });
});
