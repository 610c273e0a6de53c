/** Unsent answers in the storage of a tab. Run: node --test tests/js */

import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";

import { dropDrafts, keepDraft, readDraft } from "../../static/js/drafts.js";

/** A tab's storage as the standard has it, for a page that runs in Node. */
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
});

test("a draft comes back for its own turn alone", () => {
  keepDraft("7", { v: 1, label: "positive" });
  assert.deepEqual(readDraft("7"), { v: 1, label: "positive" });
  assert.equal(readDraft("8"), null);
});

test("only the drafts of other turns are dropped", () => {
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

test("what is no draft is none", () => {
  sessionStorage.setItem("draft:7", "{");
  assert.equal(readDraft("7"), null);
});

test("a browser that refuses storage has no drafts and no errors", () => {
  const refuse = () => { throw new Error("forbidden"); };
  Object.defineProperty(globalThis, "sessionStorage", { get: refuse, configurable: true });
  keepDraft("7", { v: 1 });
  assert.equal(readDraft("7"), null);
  dropDrafts("7");
  delete globalThis.sessionStorage;
});
