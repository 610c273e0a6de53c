/**
 * The sentences in scripts, in the language of the page.
 *
 * The English sentence is the key, so English pages need no table. Other pages have a table
 * (annotation/web/wording.py: of_scripts) of {English: translation}. For a sentence with a number,
 * it has {English singular: [[form, ...numbers that use it], ...]}. The form is chosen by the
 * plural category that the browser assigns to these numbers. If a translation is missing, the
 * English sentence is shown. Importing this file has no side effects, so that it also runs in Node.
 */

/**
 * @typedef {Record<string, string | number>} Values the value of each %(name)s
 * @typedef {Record<string, string | [string, ...number[]][]>} Table
 */

/**
 * Return functions that translate into a language, using its table.
 * @param {Table} table
 * @param {string} [language]
 * @param {boolean} [isMirrored] whether the page is written from right to left
 */
export function speaker(table, language = "en", isMirrored = false) {
  // Use the same number format as the server.
  const style = { numberingSystem: "latn", useGrouping: false };
  const category = (n) => new Intl.PluralRules(language).select(n);
  const formats = {}; // by their options, because browsers take long to create one
  const numeral = (n, options = {}) => {
    const format = formats[JSON.stringify(options)] ??= new Intl.NumberFormat(language, { ...style, ...options });
    return format.format(n);
  };

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

  /**
   * Translate a sentence with a number, for which %(count)s is the placeholder.
   * @param {string} one
   * @param {string} many
   * @param {number} n
   * @param {Values} [values]
   */
  const ngettext = (one, many, n, values = {}) => {
    const forms = table[one];
    const sentence = Array.isArray(forms) ? formOf(forms, n) : n === 1 ? one : many;
    return fill(sentence, { ...values, count: n });
  };

  /** Join complete sentences. @param {string[]} sentences */
  const together = (...sentences) =>
    sentences.reduce((first, second) => gettext("%(first)s %(second)s", { first, second }));

  /**
   * Isolate a text that is in the direction of the task, so that punctuation is displayed
   * correctly.
   * @param {string} text
   */
  const isolated = (text) => (isMirrored ? `\u2068${text}\u2069` : text);

  return { gettext, ngettext, together, numeral, isolated };
}

/** @type {ReturnType<typeof speaker> | undefined} */
let ofPage;

/**
 * Return the functions for this page. They are created only once, because scripts remain when parts
 * of the page are swapped.
 */
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

/** Format minutes, with hours if there is at least one. @param {number} seconds */
export function timeInWords(seconds) {
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return gettext("%(minutes)s min", { minutes });
  return gettext("%(hours)s h %(minutes)s min", { hours: Math.floor(minutes / 60), minutes: minutes % 60 });
}

/**
 * Return the pay for `seconds` at an hourly rate, rounded down to cents like the ledger. Paid time
 * is limited to `most` seconds.
 * @param {number} seconds
 * @param {number} rate
 * @param {number} [most]
 */
export function earnedInWords(seconds, rate, most = Infinity) {
  const cents = Math.floor((rate * Math.min(seconds, most)) / 36);
  return numeral(cents / 100, { minimumFractionDigits: 2 });
}
