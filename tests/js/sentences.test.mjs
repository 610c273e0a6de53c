/** Sentences in the language of the page, with its plural forms. Run: node --test tests/js */

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";

import { earnedInWords, gettext, ngettext, speaker, timeInWords, together } from "../../static/js/sentences.js";

const WORDS = ["%(count)s word", "%(count)s words"];

test("without a catalogue, sentences are in English", () => {
  assert.equal(gettext("No connection."), "No connection.");
  assert.equal(gettext("Use only %(text)s", { text: "“Oslo”" }), "Use only “Oslo”");
  assert.equal(ngettext(...WORDS, 1), "1 word");
  assert.equal(ngettext(...WORDS, 0), "0 words");
  assert.equal(ngettext(...WORDS, 12), "12 words");
  assert.equal(together("One.", "Two.", "Three."), "One. Two. Three.");
});

test("missing translations fall back to English", () => {
  const german = speaker({ "No connection.": "Keine Verbindung." }, "de");
  assert.equal(german.gettext("No connection."), "Keine Verbindung.");
  assert.equal(german.gettext("Undone."), "Undone.");
  assert.equal(german.ngettext(...WORDS, 1), "1 word");
  assert.equal(german.ngettext(...WORDS, 2), "2 words");
});

test("Arabic uses its six plural forms", () => {
  const forms = [["zero", 0], ["one", 1], ["two", 2], ["few", 3, 4, 5], ["many", 11, 20], ["other", 100]];
  const table = { [WORDS[0]]: forms.map(([name, ...numbers]) => [`${name} %(count)s`, ...numbers]) };
  const arabic = speaker(table, "ar", true);
  const said = (n) => arabic.ngettext(...WORDS, n);
  for (const n of [3, 10, 103, 110]) assert.equal(said(n), `few ${n}`);
  for (const n of [11, 26, 99, 111]) assert.equal(said(n), `many ${n}`);
  for (const n of [100, 101, 102, 600]) assert.equal(said(n), `other ${n}`);
  assert.deepEqual([0, 1, 2].map(said), ["zero 0", "one 1", "two 2"]);
});

test("a language with one plural form uses it for every number", () => {
  const chinese = speaker({ [WORDS[0]]: [["%(count)s 个词", 0, 1, 2]] }, "zh-Hans");
  assert.deepEqual([0, 1, 2, 5, 100].map((n) => chinese.ngettext(...WORDS, n)[0]), ["0", "1", "2", "5", "1"]);
});

test("translations can reorder placeholders and sentences", () => {
  const table = { "%(a)s of %(b)s": "%(b)s's %(a)s", "%(first)s %(second)s": "%(first)s%(second)s" };
  const other = speaker(table, "zh-Hans");
  assert.equal(other.gettext("%(a)s of %(b)s", { a: "book", b: "Ann" }), "Ann's book");
  assert.equal(other.together("一。", "二。"), "一。二。");
});

test("inserted values are not interpreted", () => {
  const { gettext: say } = speaker({}, "en");
  assert.equal(say("“%(text)s” $& %(other)s", { text: "%(other)s $& $1" }), "“%(other)s $& $1” $& %(other)s");
});

test("numbers use the format of the language and the digits of the server", () => {
  assert.equal(speaker({}, "de").gettext("%(n)s", { n: 1234.5 }), "1234,5");
  assert.equal(speaker({}, "ar").numeral(12), "12");
  assert.equal(speaker({}, "de").numeral(1234.5, { minimumFractionDigits: 2 }), "1234,50");
  assert.equal(earnedInWords(360_000, 12.5), "1250.00");
  assert.equal(timeInWords(7260), "2 h 1 min");
});

test("task texts are isolated on right-to-left pages", () => {
  assert.equal(speaker({}, "ar", true).isolated("U.S."), "\u2068U.S.\u2069");
  assert.equal(speaker({}, "en").isolated("U.S."), "U.S.");
});

test("the sample numbers cover every plural category of every language", () => {
  const server = readFileSync(new URL("../../annotation/web/wording.py", import.meta.url), "utf8");
  const samples = server.match(/^SAMPLES = \((.*)\)$/mu)[1].split(", ").map((n) => Number(n.replaceAll("_", "")));
  const letters = [..."abcdefghijklmnopqrstuvwxyz"];
  const languages = letters.flatMap((a) => letters.map((b) => a + b));
  const whole = [...Array(1100).keys(), 10_000, 100_000, 1_000_000, 2_000_000];
  for (const language of Intl.PluralRules.supportedLocalesOf(languages)) {
    const rules = new Intl.PluralRules(language);
    const reached = new Set(samples.map((n) => rules.select(n)));
    assert.deepEqual(new Set(whole.map((n) => rules.select(n))), reached, language);
  }
});

test("times are in minutes, and in hours from one hour up", () => {
  const cases = { 0: "0 min", 59: "0 min", 60: "1 min", 3599: "59 min", 3600: "1 h 0 min", 7325: "2 h 2 min" };
  for (const [seconds, words] of Object.entries(cases)) assert.equal(timeInWords(Number(seconds)), words);
});

test("earnings are rounded down and stop at the paid time", () => {
  assert.equal(earnedInWords(3600, 12), "12.00");
  assert.equal(earnedInWords(35, 12), "0.11");
  assert.equal(earnedInWords(36, 12), "0.12");
  assert.equal(earnedInWords(7200, 12, 3600), "12.00");
  assert.equal(earnedInWords(0, 12), "0.00");
});
