/**
 * What keys mean in a turn, which presses to ignore, and the order of the windows in the drawer.
 * Pure, without DOM.
 *
 * Single keys act while the focus is in the turn, but not in the passage, a text field, a link or a
 * button, and can be switched off (WCAG 2.1.4). 0 and ? also act in the passage and on links and
 * buttons. In the passage, letters and digits are type-ahead, and Enter is handled by the
 * highlighter. It passes on 0 and ? if no word starts with them. A letter that is typed elsewhere
 * in the turn is passed on to the passage.
 */

export const MOST_DIGITS = 9; // choices selected with one digit each

// Keys that are inserted into a field if typed outside it (data-typing of its element).
const TYPING = { letters: /^\p{L}$/u, digits: /^[0-9.+-]$/u, both: /^[\p{L}\p{N}]$/u };

/**
 * @typedef {"passage" | "typing" | "control" | "turn" | "elsewhere"} Place where the focus is
 * @typedef {{ key: string, ctrlKey?: boolean, metaKey?: boolean, altKey?: boolean, repeat?: boolean }} Key
 * @typedef {{ place: Place, isReveal: boolean, choices: number, noAnswer: boolean, typing: string, single: boolean }} Situation
 */

/**
 * Return "go" (submit or continue), "help", "none" (no answer), "typed" (moves to a word, filters
 * labels, or is inserted into the field of a typed answer), the number of a choice, or null.
 * @param {Key} event
 * @param {Situation} situation
 */
export function meaningOf({ key, ctrlKey, metaKey, altKey, repeat }, situation) {
  const { place, isReveal, choices, noAnswer, typing, single } = situation;
  if (repeat) return null;
  if (ctrlKey || metaKey) return key === "Enter" && !altKey ? "go" : null;
  if (altKey || !single) return null;
  const none = key === "0" && noAnswer && !isReveal ? "none" : null;
  if (key === "?" && ["turn", "control", "passage"].includes(place)) return "help";
  if (place === "passage" || place === "control") return none;
  if (place !== "turn") return null;
  if (key === "Enter") return "go";
  if (isReveal) return null;
  if (TYPING[typing]?.test(key)) return "typed";
  if (none) return none;
  const number = /^[1-9]$/u.test(key) ? Number(key) : 0;
  return number && choices <= MOST_DIGITS && number <= choices ? number : null;
}

// --- Presses that were meant for the previous state. After each swap, Submit, Continue and the
// choices replace other controls. For a short time, all presses, keys and taps on them are ignored,
// so that a double click cannot skip a reveal, answer an example before it is seen, or cause an
// error message. A press that started during this time is ignored even if it is held longer. The
// second click of a double click never answers, however late it comes.

const PATIENCE = { reveal: 600, other: 400 }; // ms after a swap

let readyAt = 0;
let tooEarly = false; // whether a press or key began before the swap and is still held

const isEarly = () => performance.now() < readyAt;

/** Called after a swap. @param {HTMLElement | null} turn */
export function guard(turn) {
  const button = turn?.querySelector("[data-submit]");
  if (!button) return;
  const patience = turn.dataset.state === "reveal" ? PATIENCE.reveal : PATIENCE.other;
  readyAt = performance.now() + patience;
  button.setAttribute("aria-disabled", "true");
  setTimeout(() => button.removeAttribute("aria-disabled"), patience);
}

export function listen() {
  addEventListener("keydown", (event) => {
    // Holding down Enter after Submit would press a button again and again.
    const button = /** @type {HTMLElement} */ (event.target).closest?.("[data-submit]");
    if (event.repeat && button) event.preventDefault();
  }, true);
  for (const begin of ["pointerdown", "keydown"]) {
    addEventListener(begin, (event) => {
      if (!(event instanceof KeyboardEvent && event.repeat)) tooEarly = isEarly();
    }, true);
  }
  for (const end of ["pointerup", "pointercancel", "keyup"]) {
    // The click event comes after this.
    addEventListener(end, () => setTimeout(() => { tooEarly = false; }), true);
  }
  addEventListener("click", drop, true);
  addEventListener("submit", drop, true);
}

/** @param {Event} event */
function drop(event) {
  const target = /** @type {HTMLElement} */ (event.target);
  if (!target.closest?.("#turn")) return;
  const isOnPanel = event.type === "submit" || target.closest(".turn-panel, [data-submit]");
  const isSecond = event instanceof MouseEvent && event.detail > 1
    && target.closest("[data-submit], .turn-choice, .turn-none");
  if (!(isOnPanel && (isEarly() || tooEarly)) && !isSecond) return;
  event.preventDefault();
  event.stopImmediatePropagation();
}

// --- The windows of the drawer stay on the page between turns. The window about the current
// question comes first and is marked.

/** @param {ParentNode | null} drawer  @param {string | undefined} title the title of that window */
export function markAsked(drawer, title) {
  const windows = [...(drawer?.querySelectorAll("[data-window]") ?? [])];
  const now = windows.find((each) => title && each.dataset.window === title);
  windows.forEach((each) => each.removeAttribute("aria-current"));
  if (!now) return;
  now.setAttribute("aria-current", "true");
  // Move a window only if necessary, because moving an element takes the focus from it.
  if (windows[0] !== now) windows[0].before(now);
}
