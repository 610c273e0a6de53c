/** Which names of labels are meant by what was typed, pure, without the page. */

/** Without case and accents; what joins the words of a name in a dataset is a space. @param {string} text */
function plain(text) {
  return text
    .normalize("NFKD")
    .replace(/\p{M}/gu, "")
    .toLowerCase()
    .replace(/[\s_\-./]+/gu, " ")
    .trim();
}

/** Those that hold every word of it, anywhere and in any order; all of them for nothing. @param {string[]} names @param {string} typed */
export function wanted(names, typed) {
  const words = plain(typed).split(" ");
  return names.filter((name) => words.every((word) => plain(name).includes(word)));
}

/** The one that it most likely means: itself, else one that begins so, else the first; or null. @param {string[]} names @param {string} typed */
export function nearest(names, typed) {
  const fits = wanted(names, typed);
  const whole = plain(typed);
  return fits.find((name) => plain(name) === whole)
    ?? fits.find((name) => plain(name).startsWith(whole))
    ?? fits[0]
    ?? null;
}
