/** The length of a typed text in characters, counted as on the server. Pure, without DOM. */

// The characters that the server removes around an answer (tasks/tokens.py: is_separator).
const AROUND = /^[\p{White_Space}\p{Cc}\p{Cf}]+|[\p{White_Space}\p{Cc}\p{Cf}]+$/gu;
const NEAR = 0.9; // fraction of the limit from which the remaining characters are announced

/**
 * Return the text as it is stored, with normalised line breaks and without blanks around it.
 * @param {string} text
 */
export const trimmed = (text) => text.replace(/\r\n?/gu, "\n").replace(AROUND, "");

/** Return the number of Unicode code points in the text as stored. @param {string} text */
export const lengthOf = (text) => [...trimmed(text)].length;

/** @param {number} length @param {number} longest */
export const isNearEnd = (length, longest) => length >= NEAR * longest;

/**
 * Return the approximate number of words, even for scripts without blanks.
 * @param {string} text
 * @param {string} [language]
 */
export function wordsOf(text, language) {
  let segments;
  try {
    segments = new Intl.Segmenter(language || undefined, { granularity: "word" }).segment(text);
  } catch {
    return text.split(/\s+/u).filter(Boolean).length; // for old browsers, or if the language tag is invalid
  }
  return [...segments].filter((segment) => segment.isWordLike).length;
}
