import assert from "node:assert/strict";
import { test } from "node:test";

import { isNearEnd, lengthOf, trimmed, wordsOf } from "../../static/js/texts.js";

test("a text is as long as what the server stores of it", () => {
  assert.equal(lengthOf(" 😀😀 \n"), 2);
  assert.equal(lengthOf("a\r\nb"), 3);
  assert.equal(lengthOf("\u200b\ufeff \u0000"), 0);
  assert.equal(trimmed("\u00a0a b\u2029"), "a b");
});

test("words are counted where no blanks part them too", () => {
  assert.equal(wordsOf("Two words, and two.", "en"), 4);
  assert.equal(wordsOf("", "en"), 0);
  assert.ok(wordsOf("我们昨天去了北京", "zh") > 2);
  assert.equal(wordsOf("one two", "no language"), 2);
});

test("what is left is said near the end", () => {
  assert.equal(isNearEnd(179, 200), false);
  assert.equal(isNearEnd(180, 200), true);
  assert.equal(isNearEnd(201, 200), true);
});
