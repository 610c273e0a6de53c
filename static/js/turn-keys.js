/**
 * What a key means in a turn: pure, without the page.
 *
 * Single keys act while the focus is in the turn but not in the passage, a text field, a link or a
 * button, and can be switched off (WCAG 2.1.4). In the passage letters and digits are type-ahead,
 * and Enter is the highlighter's own.
 */

export const MOST_DIGITS = 9; // labels with one digit each

/**
 * @typedef {"passage" | "typing" | "control" | "turn" | "elsewhere"} Place where the focus is
 * @typedef {{ key: string, ctrlKey?: boolean, metaKey?: boolean, altKey?: boolean, repeat?: boolean }} Key
 * @typedef {{ place: Place, isReveal: boolean, labels: number, noAnswer: boolean, single: boolean }} Situation
 */

/**
 * "go" (submit or continue), "help", "none" (no answer), the number of a label, or null.
 * @param {Key} event
 * @param {Situation} situation
 */
export function meaningOf({ key, ctrlKey, metaKey, altKey, repeat }, situation) {
  const { place, isReveal, labels, noAnswer, single } = situation;
  if (repeat) return null;
  if (ctrlKey || metaKey) return key === "Enter" && !altKey ? "go" : null;
  if (altKey || !single) return null;
  if (key === "?" && (place === "turn" || place === "control")) return "help";
  if (place !== "turn") return null;
  if (key === "Enter") return "go";
  if (isReveal) return null;
  if (key === "0" && noAnswer) return "none";
  const number = /^[1-9]$/u.test(key) ? Number(key) : 0;
  return number && labels <= MOST_DIGITS && number <= labels ? number : null;
}
