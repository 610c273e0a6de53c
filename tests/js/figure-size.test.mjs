/** Fitting a figure to the width of its page. Run: node --test tests/js */

import assert from "node:assert/strict";
import { test } from "node:test";

import { fitted } from "../../static/js/figure-size.js";

const figure = (panels, columns = 3) => ({
  columns,
  spacing: 20,
  facet: { field: "task" },
  datasets: { data: Array.from({ length: panels * 2 }, (_, row) => ({ task: row % panels })) },
  spec: { mark: "line" },
});

test("panels share the width with the axis and gaps", () => {
  const { columns, spec } = fitted(figure(6), 1000);
  assert.equal(columns, 3);
  assert.equal(spec.width, Math.floor((1000 - 62 - 40) / 3));
  assert.equal(spec.mark, "line");
});

test("narrow pages have one panel per row, and panels on wide pages have a maximum width", () => {
  assert.equal(fitted(figure(6), 390).columns, 1);
  assert.equal(fitted(figure(6), 100).columns, 1);
  assert.equal(fitted(figure(1), 2000).spec.width, 580);
});

test("a row has no more panels than the data or the specification", () => {
  assert.equal(fitted(figure(2), 5000).columns, 2);
  assert.equal(fitted(figure(6, 3), 5000).columns, 3);
});

test("panels are spread evenly over rows", () => {
  assert.equal(fitted(figure(4), 1240).columns, 2);
  assert.equal(fitted(figure(5), 1240).columns, 3);
  assert.equal(fitted(figure(7), 1240).columns, 3);
});

test("two panels fill the widest page", () => {
  const { spec } = fitted(figure(2), 1240);
  assert.ok(62 + 20 + 2 * spec.width > 1230);
});

test("a legend has two columns on a narrow page", () => {
  const given = { ...figure(1), config: { legend: { labelLimit: 240, orient: "top" } } };
  assert.deepEqual(fitted(given, 390).config.legend, { labelLimit: 155, orient: "top", columns: 2 });
  assert.deepEqual(fitted(given, 1240).config, given.config);
});

test("the specification is not modified", () => {
  const given = figure(4);
  fitted(given, 500);
  assert.deepEqual(given, figure(4));
});
