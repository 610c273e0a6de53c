/** The help about the current question comes first. Run: node --test tests/js */

import assert from "node:assert/strict";
import { test } from "node:test";

import { markAsked } from "../../static/js/turn-keys.js";

/** A drawer with only what the module uses. */
function drawerOf(...titles) {
  const shown = [];
  const make = (title) => ({
    dataset: { window: title },
    current: null,
    setAttribute(_name, value) { this.current = value; },
    removeAttribute() { this.current = null; },
    before(other) {
      shown.splice(shown.indexOf(other), 1);
      shown.splice(shown.indexOf(this), 0, other);
    },
  });
  shown.push(...titles.map(make));
  return { shown, querySelectorAll: () => [...shown] };
}

const order = ({ shown }) => shown.map((each) => each.dataset.window);
const current = ({ shown }) => shown.filter((each) => each.current).map((each) => each.dataset.window);

test("each turn moves its kind of question to the front and marks only that one", () => {
  const drawer = drawerOf("people", "places", "teams");
  for (const asked of ["places", "teams", "people"]) {
    markAsked(drawer, asked);
    assert.equal(order(drawer)[0], asked);
    assert.deepEqual(current(drawer), [asked]);
  }
  assert.equal(order(drawer).length, 3);
});

test("without a kind of question, nothing moves or is marked", () => {
  const drawer = drawerOf("people", "places");
  markAsked(drawer, "people");
  markAsked(drawer, "");
  assert.deepEqual(order(drawer), ["people", "places"]);
  assert.deepEqual(current(drawer), []);
  markAsked(null, "people");
});
