/**
 * The sentences of these scripts in the language of the page.
 *
 * The English sentence is the key, so an English page needs no table. Other pages have one
 * (annotation/web/wording.py: of_scripts): {English: translated}, and for a sentence with a number
 * {English singular: [[form, ...numbers that take it], ...]}. The browser's plural categories select
 * the form: that of a number of the same category. Missing translations appear in English. The import
 * has no side effects, so this file also runs in Node.
 */

/**
 * @typedef {Record<string, string | number>} Values the value of each %(name)s
 * @typedef {Record<string, string | [string, ...number[]][]>} Table
 */

/**
 * The functions that translate into the language with the table.
 * @param {Table} table
 * @param {string} [language]
 * @param {boolean} [isMirrored] whether the page is written from right to left
 */
export function speaker(table, language = "en", isMirrored = false) {
  // In the server's spelling.
  const style = { numberingSystem: "latn", useGrouping: false };
  const category = (n) => new Intl.PluralRules(language).select(n);
  const numeral = (n, options = {}) => new Intl.NumberFormat(language, { ...style, ...options }).format(n);

  /** @param {string} sentence  @param {Values} values */
  const fill = (sentence, values) =>
    sentence.replace(/%\((\w+)\)s/gu, (place, name) => {
      const value = values[name] ?? place;
      return typeof value === "number" ? numeral(value) : value;
    });

  const formOf = (forms, n) =>
    (forms.find(([, ...numbers]) => numbers.some((like) => category(like) === category(n))) ?? forms.at(-1))[0];

  /** @param {string} sentence  @param {Values} [values] */
  const gettext = (sentence, values = {}) => {
    const translated = table[sentence];
    return fill(typeof translated === "string" ? translated : sentence, values);
  };

  /** The number itself is %(count)s. @param {string} one  @param {string} many  @param {number} n  @param {Values} [values] */
  const ngettext = (one, many, n, values = {}) => {
    const forms = table[one];
    const sentence = Array.isArray(forms) ? formOf(forms, n) : n === 1 ? one : many;
    return fill(sentence, { ...values, count: n });
  };

  /** Join complete sentences. @param {string[]} sentences */
  const together = (...sentences) =>
    sentences.reduce((first, second) => gettext("%(first)s %(second)s", { first, second }));

  /** Isolate a text with the task's direction, so that punctuation keeps its place. @param {string} text */
  const isolated = (text) => (isMirrored ? `\u2068${text}\u2069` : text);

  return { gettext, ngettext, together, numeral, isolated };
}

/** @type {ReturnType<typeof speaker> | undefined} */
let ofPage;

/** Created once: the scripts of a page stay while parts of it are swapped. */
function here() {
  const page = globalThis.document;
  const table = page?.getElementById("sentences")?.textContent ?? "{}";
  ofPage ??= speaker(JSON.parse(table), page?.documentElement.lang || "en", page?.documentElement.dir === "rtl");
  return ofPage;
}

/** @param {string} sentence  @param {Values} [values] */
export const gettext = (sentence, values) => here().gettext(sentence, values);

/** @param {string} one  @param {string} many  @param {number} n  @param {Values} [values] */
export const ngettext = (one, many, n, values) => here().ngettext(one, many, n, values);

/** @param {string[]} sentences */
export const together = (...sentences) => here().together(...sentences);

/** @param {number} n  @param {Intl.NumberFormatOptions} [options] */
export const numeral = (n, options) => here().numeral(n, options);

/** @param {string} text */
export const isolated = (text) => here().isolated(text);

// --- Time and money ---------------------------------------------------------------------------------

/** Minutes, with hours from the first on. @param {number} seconds */
export function timeInWords(seconds) {
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return gettext("%(minutes)s min", { minutes });
  return gettext("%(hours)s h %(minutes)s min", { hours: Math.floor(minutes / 60), minutes: minutes % 60 });
}

/**
 * What so many seconds earn at that rate per hour, rounded down to cents like the ledger; paid time
 * ends at `most` seconds.
 * @param {number} seconds
 * @param {number} rate
 * @param {number} [most]
 */
export function earnedInWords(seconds, rate, most = Infinity) {
  const cents = Math.floor((rate * Math.min(seconds, most)) / 36);
  return numeral(cents / 100, { minimumFractionDigits: 2 });
}
