/** Retries of an answer that could not be sent. Run: node --test tests/js */

import assert from "node:assert/strict";
import { test } from "node:test";

import { retryAction, pauseBefore, reasonOf } from "../../static/js/sending.js";

test("pauses grow to half a minute and end after five minutes", () => {
  const pauses = [];
  let waited = 0;
  for (let pause = pauseBefore(0, 0); pause !== null; pause = pauseBefore(pauses.length, waited)) {
    pauses.push(pause);
    waited += pause;
  }
  assert.deepEqual(pauses.slice(0, 6), [2, 4, 8, 15, 30, 30]);
  assert.ok(waited >= 300 && waited < 330, `${waited}`);
});

test("Retry-After is honoured up to a minute", () => {
  assert.equal(pauseBefore(0, 0, 20), 20);
  assert.equal(pauseBefore(4, 0, 20), 30);
  assert.equal(pauseBefore(0, 0, 86_400), 60);
  assert.equal(pauseBefore(0, 0, NaN || 0), 2);
});

test("only temporary failures are retried", () => {
  for (const status of [0, 408, 429, 500, 502, 503, 504]) assert.equal(retryAction(status), "again");
  for (const status of [403, 404]) assert.equal(retryAction(status), "reload");
  for (const status of [400, 405, 413, 415]) assert.equal(retryAction(status), "stop");
});

test("each failure has its own message", () => {
  const reasons = [0, 408, 429, 500, 400].map(reasonOf);
  assert.equal(new Set(reasons).size, 5);
  assert.equal(reasons[0], "No connection.");
  assert.match(reasons[4], /400/u);
});
