import assert from "node:assert/strict";
import { test } from "node:test";

import { isNearEnd, lengthOf, trimmed, wordsOf } from "../../static/js/texts.js";

test("length is counted as on the server", () => {
  assert.equal(lengthOf(" 😀😀 \n"), 2);
  assert.equal(lengthOf("a\r\nb"), 3);
  assert.equal(lengthOf("\u200b\ufeff \u0000"), 0);
  assert.equal(trimmed("\u00a0a b\u2029"), "a b");
});

test("words are counted in scripts without spaces", () => {
  assert.equal(wordsOf("Two words, and two.", "en"), 4);
  assert.equal(wordsOf("", "en"), 0);
  assert.ok(wordsOf("我们昨天去了北京", "zh") > 2);
  assert.equal(wordsOf("one two", "no language"), 2);
});

test("remaining characters are shown near the limit", () => {
  assert.equal(isNearEnd(179, 200), false);
  assert.equal(isNearEnd(180, 200), true);
  assert.equal(isNearEnd(201, 200), true);
});
