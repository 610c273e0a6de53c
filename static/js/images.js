/** Enlarges an example's image in a dialog, by keyboard, mouse and touch. */

const MOST = 8; // times the size at which the whole image fits
const KEYS = { "+": 1.5, "=": 1.5, "-": 1 / 1.5 };

/** @param {HTMLDialogElement} dialog  @param {number} factor */
function zoom(dialog, factor) {
  const place = /** @type {HTMLElement} */ (dialog.querySelector(".zoom-place"));
  const before = Number(dialog.dataset.zoomed ?? 1);
  const now = Math.min(MOST, Math.max(1, before * factor));
  const [x, y] = [place.scrollLeft + place.clientWidth / 2, place.scrollTop + place.clientHeight / 2];
  dialog.dataset.zoomed = String(now);
  const image = /** @type {HTMLElement} */ (place.firstElementChild);
  image.style.width = image.style.height = `${100 * now}%`;
  const grown = now / before; // keep the centre in place
  place.scrollTo(x * grown - place.clientWidth / 2, y * grown - place.clientHeight / 2);
}

document.addEventListener("click", (event) => {
  if (!(event.target instanceof Element) || event.ctrlKey || event.metaKey || event.shiftKey) return;
  const link = event.target.closest("a[data-zoom]");
  const pressed = /** @type {HTMLElement | null} */ (event.target.closest("[data-zoom-by]"));
  if (link) {
    event.preventDefault();
    /** @type {HTMLDialogElement} */ (link.nextElementSibling).showModal();
  } else if (pressed) {
    const dialog = /** @type {HTMLDialogElement} */ (pressed.closest("dialog"));
    const factor = Number(pressed.dataset.zoomBy);
    if (factor) zoom(dialog, factor);
    else dialog.close();
  }
});

// Keys pressed in the dialog give no answer. Arrow keys, Escape, and Enter on a button work as
// usual.
document.addEventListener("keydown", (event) => {
  const dialog = event.target instanceof Element && event.target.closest("dialog.zoom");
  if (!(dialog instanceof HTMLDialogElement)) return;
  event.stopPropagation();
  if (!(event.key in KEYS) || event.ctrlKey || event.metaKey) return;
  event.preventDefault();
  zoom(dialog, KEYS[event.key]);
}, true);
