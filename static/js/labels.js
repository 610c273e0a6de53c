/** Search in names of labels. Pure: no DOM. */

/** Remove case and accents, and replace joining characters with spaces. @param {string} text */
function plain(text) {
  return text
    .normalize("NFKD")
    .replace(/\p{M}/gu, "")
    .toLowerCase()
    .replace(/[\s_\-./]+/gu, " ")
    .trim();
}

/** The names with every typed word, in any place and order; all names for an empty text. @param {string[]} names @param {string} typed */
export function wanted(names, typed) {
  const words = plain(typed).split(" ");
  return names.filter((name) => words.every((word) => plain(name).includes(word)));
}

/** The best match: an equal name, else one with this beginning, else the first; or null. @param {string[]} names @param {string} typed */
export function nearest(names, typed) {
  const fits = wanted(names, typed);
  const whole = plain(typed);
  return fits.find((name) => plain(name) === whole)
    ?? fits.find((name) => plain(name).startsWith(whole))
    ?? fits[0]
    ?? null;
}
