import assert from "node:assert/strict";
import { test } from "node:test";

import { meaningOf } from "../../static/js/turn-keys.js";

const question = { place: "turn", isReveal: false, choices: 0, noAnswer: true, typing: "letters", single: true };
const labels = { ...question, choices: 3, noAnswer: false, typing: "" };
const press = (key, situation = question, more = {}) => meaningOf({ key, ...more }, situation);

test("digits choose labels", () => {
  assert.equal(press("2", labels), 2);
  assert.equal(press("4", labels), null);
  assert.equal(press("0", labels), null);
});

test("digits do nothing if there are more than nine labels", () => {
  assert.equal(press("1", { ...labels, choices: 10 }), null);
  assert.equal(press("9", { ...labels, choices: 9 }), 9);
});

test('0 chooses "no answer" if allowed', () => {
  assert.equal(press("0"), "none");
  assert.equal(press("0", { ...question, noAnswer: false }), null);
});

test("letters of any script jump to a word if there are words to highlight", () => {
  for (const letter of ["s", "S", "é", "ж", "ع"]) assert.equal(press(letter), "typed");
  for (const other of ["5", "-", " ", "Tab", "F1"]) assert.equal(press(other), null);
  assert.equal(press("s", labels), null);
  assert.equal(press("s", { ...question, single: false }), null);
  for (const place of ["typing", "control", "elsewhere"]) assert.equal(press("s", { ...question, place }), null);
});

test("typing outside the answer field fills it", () => {
  const number = { ...question, typing: "digits" };
  for (const key of ["0", "7", ".", "-"]) assert.equal(press(key, number), "typed");
  assert.equal(press("a", number), null);
  const text = { ...question, typing: "both" };
  for (const key of ["0", "7", "a", "ع"]) assert.equal(press(key, text), "typed");
  for (const key of [" ", "?", "Tab"]) assert.notEqual(press(key, text), "typed");
});

test("Enter submits and continues, except on other controls", () => {
  assert.equal(press("Enter"), "go");
  assert.equal(press("Enter", { ...question, isReveal: true }), "go");
  for (const place of ["passage", "typing", "control", "elsewhere"]) {
    assert.equal(press("Enter", { ...question, place }), null);
  }
});

test("Ctrl+Enter always submits", () => {
  for (const place of ["passage", "typing", "control", "turn", "elsewhere"]) {
    assert.equal(press("Enter", { ...question, place, single: false }, { ctrlKey: true }), "go");
    assert.equal(press("Enter", { ...question, place }, { metaKey: true }), "go");
  }
});

test("shortcuts are off in text fields", () => {
  for (const key of ["0", "1", "?", "a"]) {
    assert.equal(press(key, { ...labels, noAnswer: true, place: "typing" }), null);
  }
});

test("in the passage, only 0 and ? are shortcuts", () => {
  const passage = { ...question, place: "passage" };
  assert.equal(press("0", passage), "none");
  assert.equal(press("?", passage), "help");
  assert.equal(press("0", { ...passage, noAnswer: false }), null);
  assert.equal(press("0", { ...passage, isReveal: true }), null);
  assert.equal(press("0", { ...passage, single: false }), null);
  for (const key of ["1", "a", "Enter"]) assert.equal(press(key, passage), null);
});

test("? shows the shortcuts, also from buttons and links", () => {
  assert.equal(press("?"), "help");
  assert.equal(press("?", { ...question, place: "control" }), "help");
});

test("0 also works on buttons and links, other keys do not", () => {
  const control = { ...question, place: "control" };
  assert.equal(press("0", control), "none");
  assert.equal(press("0", { ...control, noAnswer: false }), null);
  for (const key of ["1", "a", "Enter"]) assert.equal(press(key, control), null);
});

test("shortcuts can be switched off, and a reveal has only Enter and ?", () => {
  for (const key of ["0", "1", "Enter", "?"]) assert.equal(press(key, { ...labels, single: false }), null);
  assert.equal(press("0", { ...question, isReveal: true }), null);
  assert.equal(press("1", { ...labels, isReveal: true }), null);
});

test("repeated keys and Alt are ignored", () => {
  assert.equal(press("Enter", question, { repeat: true }), null);
  assert.equal(press("1", labels, { altKey: true }), null);
});
