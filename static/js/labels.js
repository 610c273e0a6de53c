/** Search by the names of labels. Pure, without DOM. */

/** Remove case and accents, and replace joining characters with spaces. @param {string} text */
function plain(text) {
  return text
    .normalize("NFKD")
    .replace(/\p{M}/gu, "")
    .toLowerCase()
    .replace(/[\s_\-./]+/gu, " ")
    .trim();
}

/**
 * Return the names that contain all typed words, in any position and order, or all names if nothing
 * is typed.
 * @param {string[]} names
 * @param {string} typed
 */
export function wanted(names, typed) {
  const words = plain(typed).split(" ");
  return names.filter((name) => words.every((word) => plain(name).includes(word)));
}

/**
 * Return the best match (an equal name, else one that starts with the text, else the first), or
 * null.
 * @param {string[]} names
 * @param {string} typed
 */
export function nearest(names, typed) {
  const fits = wanted(names, typed);
  const whole = plain(typed);
  return fits.find((name) => plain(name) === whole)
    ?? fits.find((name) => plain(name).startsWith(whole))
    ?? fits[0]
    ?? null;
}
