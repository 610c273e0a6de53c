/** How long a typed text is, pure, without the page: in characters as the server counts them. */

// What the server takes away around an answer (tasks/tokens.py: is_separator).
const AROUND = /^[\p{White_Space}\p{Cc}\p{Cf}]+|[\p{White_Space}\p{Cc}\p{Cf}]+$/gu;
const NEAR = 0.9; // of the limit: from there on what is left is said

/** As it is stored: line breaks in one spelling, no blanks around it. @param {string} text */
export const trimmed = (text) => text.replace(/\r\n?/gu, "\n").replace(AROUND, "");

/** Unicode code points of what is stored. @param {string} text */
export const lengthOf = (text) => [...trimmed(text)].length;

/** @param {number} length @param {number} longest */
export const isNearEnd = (length, longest) => length >= NEAR * longest;

/** Words of a text: a guide for the eye, also where no blanks part them. @param {string} text @param {string} [language] */
export function wordsOf(text, language) {
  let segments;
  try {
    segments = new Intl.Segmenter(language || undefined, { granularity: "word" }).segment(text);
  } catch {
    return text.split(/\s+/u).filter(Boolean).length; // an old browser, or no language
  }
  return [...segments].filter((segment) => segment.isWordLike).length;
}
