/** Unsent answers in the storage of a tab. Run: node --test tests/js */

import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";

import { dropDrafts, keepDraft, readDraft, storeUnsent } from "../../static/js/drafts.js";

/** A standard Storage for a page that runs in Node. */
function storage() {
  const hidden = { enumerable: false };
  return Object.defineProperties({}, {
    getItem: { ...hidden, value(name) { return this[name] ?? null; } },
    setItem: { ...hidden, value(name, text) { this[name] = String(text); } },
    removeItem: { ...hidden, value(name) { delete this[name]; } },
  });
}

beforeEach(() => {
  globalThis.sessionStorage = storage();
  Object.defineProperty(globalThis, "localStorage", { value: storage(), configurable: true, writable: true });
  globalThis.location = { pathname: "/work/secret-token/" };
});

test("a draft is restored only for its own turn", () => {
  keepDraft("7", { v: 1, label: "positive" });
  assert.deepEqual(readDraft("7"), { v: 1, label: "positive" });
  assert.equal(readDraft("8"), null);
});

test("clearing other drafts keeps the current one", () => {
  keepDraft("7", { v: 1 });
  keepDraft("8", { v: 2 });
  sessionStorage.setItem("another", "stays");
  dropDrafts("8");
  assert.equal(readDraft("7"), null);
  assert.deepEqual(readDraft("8"), { v: 2 });
  assert.equal(sessionStorage.getItem("another"), "stays");
  dropDrafts(null);
  assert.equal(readDraft("8"), null);
});

test("an answer being sent is kept until another turn is shown", () => {
  keepDraft("7", { v: 1, label: "positive" });
  storeUnsent("7");
  globalThis.sessionStorage = storage();
  assert.deepEqual(readDraft("7"), { v: 1, label: "positive" });
  assert.equal(readDraft("8"), null);
  dropDrafts("7");
  assert.deepEqual(readDraft("7"), { v: 1, label: "positive" });
  dropDrafts("8");
  assert.deepEqual(Object.keys(localStorage), []);
});

test("the browser stores one answer per participation, and no token", () => {
  keepDraft("7", { v: 1, label: "positive" });
  storeUnsent("7");
  globalThis.location = { pathname: "/work/another/" };
  keepDraft("8", { v: 1, label: "negative" });
  storeUnsent("8");
  keepDraft("9", { v: 1, label: "neutral" });
  storeUnsent("9");
  assert.equal(Object.keys(localStorage).length, 2);
  assert.doesNotMatch(Object.keys(localStorage).join(), /secret|another/u);
  dropDrafts(null);
  globalThis.location = { pathname: "/work/secret-token/" };
  globalThis.sessionStorage = storage();
  assert.deepEqual(readDraft("7"), { v: 1, label: "positive" });
});

test("drafts expire after a week", () => {
  localStorage.setItem("unsent:1", JSON.stringify({ turn: "1", at: Date.now() - 8 * 24 * 3600 * 1000, draft: {} }));
  localStorage.setItem("unsent:2", JSON.stringify({ turn: "2", at: Date.now() - 6 * 24 * 3600 * 1000, draft: {} }));
  dropDrafts(null);
  assert.deepEqual(Object.keys(localStorage), ["unsent:2"]);
});

test("the newest draft of tab and browser is restored", () => {
  localStorage.setItem("another", "stays");
  keepDraft("7", { v: 1, label: "positive" });
  storeUnsent("7");
  sessionStorage.setItem("draft:7", JSON.stringify({ v: 1, label: "negative", at: Date.now() + 1 }));
  assert.deepEqual(readDraft("7"), { v: 1, label: "negative" });
  sessionStorage.setItem("draft:7", JSON.stringify({ v: 1, label: "neutral", at: 1 }));
  assert.deepEqual(readDraft("7"), { v: 1, label: "positive" });
  dropDrafts(null);
  assert.deepEqual(Object.keys(localStorage), ["another"]);
});

test("malformed drafts are ignored", () => {
  sessionStorage.setItem("draft:7", "{");
  assert.equal(readDraft("7"), null);
});

test("without storage there are no drafts and no errors", () => {
  const refuse = () => { throw new Error("forbidden"); };
  Object.defineProperty(globalThis, "sessionStorage", { get: refuse, configurable: true });
  keepDraft("7", { v: 1 });
  assert.equal(readDraft("7"), null);
  dropDrafts("7");
  delete globalThis.sessionStorage;
});
