/**
 * Continue lies exactly where Submit was: for 600 ms after a reveal appears every press, key and tap
 * on it is ignored, so that no double click skips a reveal. It is shown as not ready until then.
 *
 * A press that began before that time counts as of then, however long it is held.
 */

const PATIENCE = 600; // ms

let readyAt = 0;
let tooEarly = false; // a press or key that began before, and is still held

const isEarly = () => performance.now() < readyAt;

/** @param {HTMLElement | null} turn */
export function guard(turn) {
  readyAt = 0;
  if (turn?.dataset.state !== "reveal") return;
  readyAt = performance.now() + PATIENCE;
  const button = turn.querySelector("[data-submit]");
  button.setAttribute("aria-disabled", "true");
  setTimeout(() => button.removeAttribute("aria-disabled"), PATIENCE);
}

export function listen() {
  addEventListener("keydown", (event) => {
    // Enter held down from Submit on would press a button again and again.
    const button = /** @type {HTMLElement} */ (event.target).closest?.("[data-submit]");
    if (event.repeat && button) event.preventDefault();
  }, true);
  for (const begin of ["pointerdown", "keydown"]) {
    addEventListener(begin, (event) => {
      if (!(event instanceof KeyboardEvent && event.repeat)) tooEarly = isEarly();
    }, true);
  }
  for (const end of ["pointerup", "pointercancel", "keyup"]) {
    // The click follows.
    addEventListener(end, () => setTimeout(() => { tooEarly = false; }), true);
  }
  addEventListener("click", drop, true);
  addEventListener("submit", drop, true);
}

/** @param {Event} event */
function drop(event) {
  const target = /** @type {HTMLElement} */ (event.target);
  if (!target.closest?.("[data-state=reveal] form[data-main]")) return;
  if (event.type === "click" && !target.closest("[data-submit]")) return;
  if (!isEarly() && !tooEarly) return;
  event.preventDefault();
  event.stopImmediatePropagation();
}
