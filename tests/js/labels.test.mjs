import assert from "node:assert/strict";
import { test } from "node:test";

import { nearest, wanted } from "../../static/js/labels.js";

const NAMES = ["activate_my_card", "card_arrival", "card", "Café payment", "lost-or-stolen card", "قرض"];

test("search matches all words in any order, ignoring case and accents", () => {
  assert.deepEqual(wanted(NAMES, "CARD st"), ["lost-or-stolen card"]);
  assert.deepEqual(wanted(NAMES, "card my"), ["activate_my_card"]);
  assert.deepEqual(wanted(NAMES, "cafe"), ["Café payment"]);
  assert.deepEqual(wanted(NAMES, "قر"), ["قرض"]);
  assert.deepEqual(wanted(NAMES, "lost_or"), ["lost-or-stolen card"]);
  assert.deepEqual(wanted(NAMES, "loan"), []);
});

test("an empty search matches every label", () => {
  assert.deepEqual(wanted(NAMES, "  "), NAMES);
});

test("the best match is the exact name, then a prefix, then the first label", () => {
  assert.equal(nearest(NAMES, "Card"), "card");
  assert.equal(nearest(NAMES, "card a"), "card_arrival");
  assert.equal(nearest(NAMES, "pay"), "Café payment");
  assert.equal(nearest(NAMES, "loan"), null);
});
