import assert from "node:assert/strict";
import { test } from "node:test";

import { meaningOf } from "../../static/js/turn-keys.js";

const question = { place: "turn", isReveal: false, choices: 0, noAnswer: true, typing: "letters", single: true };
const labels = { ...question, choices: 3, noAnswer: false, typing: "" };
const press = (key, situation = question, more = {}) => meaningOf({ key, ...more }, situation);

test("digits choose a label, as far as there are labels", () => {
  assert.equal(press("2", labels), 2);
  assert.equal(press("4", labels), null);
  assert.equal(press("0", labels), null);
});

test("no digit chooses among more than nine labels", () => {
  assert.equal(press("1", { ...labels, choices: 10 }), null);
  assert.equal(press("9", { ...labels, choices: 9 }), 9);
});

test("0 is no answer where there can be none", () => {
  assert.equal(press("0"), "none");
  assert.equal(press("0", { ...question, noAnswer: false }), null);
});

test("a letter of any script goes to a word, where there are words to mark", () => {
  for (const letter of ["s", "S", "é", "ж", "ع"]) assert.equal(press(letter), "typed");
  for (const other of ["5", "-", " ", "Tab", "F1"]) assert.equal(press(other), null);
  assert.equal(press("s", labels), null);
  assert.equal(press("s", { ...question, single: false }), null);
  for (const place of ["typing", "control", "elsewhere"]) assert.equal(press("s", { ...question, place }), null);
});

test("what is typed outside the field of a typed answer goes into it", () => {
  const number = { ...question, typing: "digits" };
  for (const key of ["0", "7", ".", "-"]) assert.equal(press(key, number), "typed");
  assert.equal(press("a", number), null);
  const text = { ...question, typing: "both" };
  for (const key of ["0", "7", "a", "ع"]) assert.equal(press(key, text), "typed");
  for (const key of [" ", "?", "Tab"]) assert.notEqual(press(key, text), "typed");
});

test("Enter submits and continues in the turn, and keeps its function elsewhere", () => {
  assert.equal(press("Enter"), "go");
  assert.equal(press("Enter", { ...question, isReveal: true }), "go");
  for (const place of ["passage", "typing", "control", "elsewhere"]) {
    assert.equal(press("Enter", { ...question, place }), null);
  }
});

test("Ctrl+Enter submits from everywhere, also where single keys are off", () => {
  for (const place of ["passage", "typing", "control", "turn", "elsewhere"]) {
    assert.equal(press("Enter", { ...question, place, single: false }, { ctrlKey: true }), "go");
    assert.equal(press("Enter", { ...question, place }, { metaKey: true }), "go");
  }
});

test("in text fields single keys are letters", () => {
  for (const key of ["0", "1", "?", "a"]) {
    assert.equal(press(key, { ...labels, noAnswer: true, place: "typing" }), null);
  }
});

test("in the passage 0 and ? mean what the panel says, and other keys are the highlighter's", () => {
  const passage = { ...question, place: "passage" };
  assert.equal(press("0", passage), "none");
  assert.equal(press("?", passage), "help");
  assert.equal(press("0", { ...passage, noAnswer: false }), null);
  assert.equal(press("0", { ...passage, isReveal: true }), null);
  assert.equal(press("0", { ...passage, single: false }), null);
  for (const key of ["1", "a", "Enter"]) assert.equal(press(key, passage), null);
});

test("? shows the keys, from a button or a link too", () => {
  assert.equal(press("?"), "help");
  assert.equal(press("?", { ...question, place: "control" }), "help");
});

test("0 is no answer from a button or a link too, and other keys are theirs", () => {
  const control = { ...question, place: "control" };
  assert.equal(press("0", control), "none");
  assert.equal(press("0", { ...control, noAnswer: false }), null);
  for (const key of ["1", "a", "Enter"]) assert.equal(press(key, control), null);
});

test("single keys can be switched off, and a reveal has none but Enter and ?", () => {
  for (const key of ["0", "1", "Enter", "?"]) assert.equal(press(key, { ...labels, single: false }), null);
  assert.equal(press("0", { ...question, isReveal: true }), null);
  assert.equal(press("1", { ...labels, isReveal: true }), null);
});

test("a key that is held down means nothing more, nor one with Alt", () => {
  assert.equal(press("Enter", question, { repeat: true }), null);
  assert.equal(press("1", labels, { altKey: true }), null);
});
