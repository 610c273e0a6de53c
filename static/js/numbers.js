/**
 * Exact numbers in plain digits. Pure, without DOM. The rules are the same as on the server
 * (tasks/answers/typed.py), so that the page does not reject any number that the server would
 * accept.
 */

import { gettext } from "./sentences.js";

const LONGEST = 30; // characters
const PLAIN = /^[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)$/u;
// These are the characters that Python strips. JavaScript's trim() strips different ones.
const BLANKS = /^[\p{White_Space}\x1c-\x1f]+|[\p{White_Space}\x1c-\x1f]+$/gu;

/** @typedef {{ lowest?: string, highest?: string, step?: string }} Limits in plain digits */

/**
 * Return a number's digits and its number of decimals, or null for any other text.
 * @param {string} text
 */
function parsed(text) {
  if (text.length > LONGEST || !PLAIN.test(text)) return null;
  const [whole, rest = ""] = text.replace(/^[+-]/u, "").split(".");
  const digits = BigInt(`${whole}${rest}` || "0");
  return { digits: text.startsWith("-") ? -digits : digits, places: rest.length };
}

/** Convert numbers to integers with a common scale. @param {ReturnType<typeof parsed>[]} numbers */
function scaled(numbers) {
  const places = Math.max(...numbers.map((number) => number.places));
  return { places, integers: numbers.map((n) => n.digits * 10n ** BigInt(places - n.places)) };
}

/** @param {bigint} integer @param {number} places */
function written(integer, places) {
  const digits = String(integer < 0n ? -integer : integer).padStart(places + 1, "0");
  const rest = places ? digits.slice(-places).replace(/0+$/u, "") : "";
  const whole = places ? digits.slice(0, -places) : digits;
  const text = rest ? `${whole}.${rest}` : whole;
  return integer < 0n ? `-${text}` : text;
}

/** Remove surrounding blanks. @param {string} typed */
export const stripped = (typed) => typed.replace(BLANKS, "");

/**
 * Return the error in a number, in the server's words, or "" if it is valid.
 * @param {string} typed
 * @param {Limits} limits
 */
export function problemOf(typed, { lowest, highest, step }) {
  const text = stripped(typed);
  const number = parsed(text);
  if (!number) {
    return gettext("“%(typed)s” is not a number. Use plain digits, such as 12 or 3.5.", { typed: text });
  }
  const below = lowest !== undefined && compare(number, parsed(lowest)) < 0;
  const above = highest !== undefined && compare(number, parsed(highest)) > 0;
  if ((below || above) && lowest !== undefined && highest !== undefined) {
    return gettext("The number must be between %(lowest)s and %(highest)s.", { lowest, highest });
  }
  if (below) return gettext("The number must be %(lowest)s or more.", { lowest });
  if (above) return gettext("The number must be %(highest)s or less.", { highest });
  return step === undefined ? "" : offStep(number, lowest ?? "0", step);
}

function compare(one, other) {
  const [a, b] = scaled([one, other]).integers;
  return a < b ? -1 : Number(a > b);
}

function offStep(number, first, step) {
  const { integers: [value, from, by], places } = scaled([number, parsed(first), parsed(step)]);
  if ((value - from) % by === 0n) return "";
  return gettext("The number must be in steps of %(step)s, such as %(first)s or %(second)s.", {
    step, first, second: written(from + by, places),
  });
}

/**
 * Return the number after `by` steps, aligned to the steps and within the range. An empty field
 * starts from the lowest number going up, the highest going down, or 0 without limits. Any other
 * text is returned unchanged.
 * @param {string} typed
 * @param {Limits} limits
 * @param {1 | -1} by
 */
export function stepped(typed, limits, by) {
  const text = stripped(typed);
  const { lowest, highest, step = "1" } = limits;
  const begin = (by > 0 ? lowest : highest) ?? lowest ?? highest ?? "0";
  if (!text) return written(parsed(begin).digits, parsed(begin).places);
  const number = parsed(text);
  if (!number) return typed;
  const { integers: [value, from, one], places } = scaled([number, parsed(lowest ?? "0"), parsed(step)]);
  const past = (((value - from) % one) + one) % one; // distance from the step below
  const next = by > 0 ? value - past + one : value - (past || one);
  const digits = limits.step === undefined ? value + BigInt(by) * one : next;
  const to = { digits, places };
  if (lowest !== undefined && compare(to, parsed(lowest)) < 0) return stepped("", { lowest }, 1);
  if (highest !== undefined && compare(to, parsed(highest)) > 0) {
    return by > 0 && compare(number, parsed(highest)) <= 0 ? written(value, places) : stepped("", { highest }, -1);
  }
  return written(digits, places);
}
