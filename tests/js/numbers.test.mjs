import assert from "node:assert/strict";
import { test } from "node:test";

import { problemOf, stepped, stripped } from "../../static/js/numbers.js";

const STARS = { lowest: "1", highest: "5", step: "0.5" };

test("only plain digits are parsed as a number", () => {
  for (const good of ["12", "-3", "+3.50", ".5", "5.", " 7 ", "007"]) assert.equal(problemOf(good, {}), "");
  for (const bad of ["1,5", "1e400", "NaN", "٣", "", "-", ".", "1 2", "0x1", "1".repeat(31)]) {
    assert.match(problemOf(bad, {}), /is not a number\. Use plain digits/);
  }
});

test("numbers must be in range and on a step, without rounding errors", () => {
  assert.equal(problemOf("4.5", STARS), "");
  assert.equal(problemOf("5.5", STARS), "The number must be between 1 and 5.");
  assert.equal(problemOf("1.25", STARS), "The number must be in steps of 0.5, such as 1 or 1.5.");
  assert.equal(problemOf("-0.1", { lowest: "0" }), "The number must be 0 or more.");
  assert.equal(problemOf("0.1", { highest: "0" }), "The number must be 0 or less.");
  assert.equal(problemOf("0.3", { step: "0.1" }), "");
  assert.equal(problemOf("1000000000000000000.1", { step: "0.1" }), "");
});

test("arrow keys move to the next step within the range", () => {
  assert.equal(stepped("", STARS, 1), "1");
  assert.equal(stepped("", STARS, -1), "5");
  assert.equal(stepped("", {}, 1), "0");
  assert.equal(stepped("1", STARS, 1), "1.5");
  assert.equal(stepped("1.2", STARS, 1), "1.5");
  assert.equal(stepped("1.2", STARS, -1), "1");
  assert.equal(stepped("1", STARS, -1), "1");
  assert.equal(stepped("5", STARS, 1), "5");
  assert.equal(stepped("9", STARS, 1), "5");
  assert.equal(stepped("9", STARS, -1), "5");
  assert.equal(stepped("-3", STARS, 1), "1");
  assert.equal(stepped("0.1", { step: "0.1" }, 1), "0.2");
  assert.equal(stepped("-1", {}, 1), "0");
  assert.equal(stepped("2.5", {}, 1), "3.5");
  assert.equal(stepped("-0.5", { step: "1" }, 1), "0");
  assert.equal(stepped("abc", STARS, 1), "abc");
  assert.equal(stepped("10", { lowest: "1", highest: "10", step: "4" }, 1), "10");
});

test("the same white space is stripped as in Python", () => {
  assert.equal(stripped("\u00a0\u3000 5\u001f\u0085"), "5");
  assert.equal(stripped("\ufeff5"), "\ufeff5");
});
