/** How time and money are written above a turn. Run: node --test tests/js */

import assert from "node:assert/strict";
import { test } from "node:test";

import { earnedInWords, timeInWords } from "../../static/js/time-worked.js";

test("time is whole minutes, with hours from the first on", () => {
  const cases = { 0: "0 min", 59: "0 min", 60: "1 min", 3599: "59 min", 3600: "1 h 0 min", 7325: "2 h 2 min" };
  for (const [seconds, words] of Object.entries(cases)) assert.equal(timeInWords(Number(seconds)), words);
});

test("earnings are rounded down to cents and end with the paid time", () => {
  assert.equal(earnedInWords(3600, 12), "12.00");
  assert.equal(earnedInWords(35, 12), "0.11");
  assert.equal(earnedInWords(36, 12), "0.12");
  assert.equal(earnedInWords(7200, 12, 3600), "12.00");
  assert.equal(earnedInWords(0, 12), "0.00");
});
