/** The pure part of <span-answer>. Run: node --test tests/js */

import assert from "node:assert/strict";
import { test } from "node:test";

import * as pure from "../../static/js/spans.js";

/** A box as read from the page; tokens are runs of letters and digits, or single characters. */
function box(text, field = "context", index = 0) {
  const tokens = [];
  const pieces = [];
  let at = 0;
  for (const [piece] of text.matchAll(/[\p{L}\p{M}\p{N}_]+|\s+|./gsu)) {
    const length = [...piece].length;
    const isToken = /\S/u.test(piece);
    pieces.push({ text: piece, token: isToken ? tokens.length : -1 });
    if (isToken) tokens.push([at, at + length]);
    at += length;
  }
  return { field, index: field === "question" ? undefined : index, tokens, pieces };
}

const words = ({ pieces }) => pieces.filter((p) => p.token >= 0).map((p) => p.text);
const at = (b, word) => words(b).indexOf(word);

test("the ends of a span are ordered", () => {
  assert.deepEqual(pure.span(0, 7, 3), { box: 0, first: 3, last: 7 });
});

test("spans are sorted by position", () => {
  const { spans } = pure.addSpan([pure.span(1, 0, 0), pure.span(0, 5, 6)], pure.span(0, 1, 2));
  assert.deepEqual(spans, [pure.span(0, 1, 2), pure.span(0, 5, 6), pure.span(1, 0, 0)]);
});

test("a new span replaces only those it overlaps", () => {
  const before = [pure.span(0, 1, 2), pure.span(0, 4, 5), pure.span(0, 6, 6), pure.span(1, 2, 4)];
  const { spans, replaced } = pure.addSpan(before, pure.span(0, 2, 4));
  assert.equal(replaced, 2);
  assert.deepEqual(spans, [pure.span(0, 2, 4), pure.span(0, 6, 6), pure.span(1, 2, 4)]);
  assert.equal(before.length, 4);
});

test("if one highlight is allowed, a new one replaces it", () => {
  const { spans, replaced } = pure.addSpan([pure.span(0, 1, 1)], pure.span(0, 5, 5), 1);
  assert.deepEqual([spans, replaced], [[pure.span(0, 5, 5)], 1]);
});

test("no highlight is added beyond the maximum", () => {
  const two = [pure.span(0, 1, 1), pure.span(0, 3, 3)];
  assert.equal(pure.addSpan(two, pure.span(0, 5, 5), 2), null);
  assert.equal(pure.addSpan(two, pure.span(0, 3, 4), 2).spans.length, 2);
});

test("the end of a span moves by one token", () => {
  const spans = [pure.span(0, 3, 5)];
  const after = (how) => pure.adjustSpan(spans, 0, how, 10).spans[0];
  assert.deepEqual(after("start-earlier"), pure.span(0, 2, 5));
  assert.deepEqual(after("start-later"), pure.span(0, 4, 5));
  assert.deepEqual(after("end-earlier"), pure.span(0, 3, 4));
  assert.deepEqual(after("end-later"), pure.span(0, 3, 6));
});

test("an end stops at the text, at one word and at other spans, and reports why", () => {
  const stopped = (spans, how) => pure.adjustSpan(spans, 0, how, 4).stopped;
  assert.match(stopped([pure.span(0, 0, 3)], "start-earlier"), /first word/);
  assert.match(stopped([pure.span(0, 0, 3)], "end-later"), /last word/);
  assert.match(stopped([pure.span(0, 2, 2)], "end-earlier"), /one word/);
  assert.match(stopped([pure.span(0, 1, 1), pure.span(0, 2, 2)], "end-later"), /another/);
});

/** Lay out tokens with these widths and gaps of 5 px, on lines 20 px high and 30 px apart. */
function laidOut(...lines) {
  let token = -1;
  return lines.flatMap((widths, line) => {
    let left = 0;
    return widths.map((width) => {
      token += 1;
      const rect = { token, left, right: left + width, top: 30 * line, bottom: 30 * line + 20 };
      left += width + 5;
      return rect;
    });
  });
}

const rightwards = () => true;
const drag = (rects, from, to, reads = rightwards) =>
  pure.dragged(rects, pure.sidesOf(rects, ...from, reads), ...to, reads);

test("a drag selects from the pressed word to the pointer", () => {
  const rects = laidOut([40, 50, 60]);
  for (const x of [0, 1, 20, 39, 40]) {
    assert.deepEqual(drag(rects, [x, 10], [90, 10]), { first: 0, last: 1 }, `from ${x}`);
  }
  for (const x of [45, 70, 95]) {
    assert.deepEqual(drag(rects, [x, 10], [5, 10]), { first: 0, last: 1 }, `back from ${x}`);
  }
});

test("a word is selected six pixels in, and a narrow character from its middle", () => {
  const rects = laidOut([40, 50, 4]);
  assert.deepEqual(drag(rects, [5, 10], [50, 10]), { first: 0, last: 0 });
  assert.deepEqual(drag(rects, [5, 10], [51, 10]), { first: 0, last: 1 });
  assert.deepEqual(drag(rects, [5, 10], [101, 10]), { first: 0, last: 1 });
  assert.deepEqual(drag(rects, [5, 10], [102, 10]), { first: 0, last: 2 });
  assert.deepEqual(drag(rects, [80, 10], [35, 10]), { first: 1, last: 1 });
  assert.deepEqual(drag(rects, [80, 10], [34, 10]), { first: 0, last: 1 });
});

test("ends are grabbed at the edge by mouse, and at the knob by touch", () => {
  const rects = laidOut([40, 50, 60], [30]);
  const grip = (x, y, isTouched = false, span = { first: 0, last: 1 }, reads = rightwards) =>
    pure.endAt(rects, span, x, y, reads, isTouched)?.fixed ?? null;
  // The highlight is from 0 to 95. Dragging one of its ends keeps the word at the other end.
  assert.deepEqual([93, 97, 88, 98, 45].map((x) => grip(x, 10)), [0, 0, null, null, null]);
  assert.deepEqual([0, 5, 7].map((x) => grip(x, 10)), [1, 1, null]);
  assert.equal(grip(93, 26), null);
  assert.deepEqual([[95, 30], [84, 22], [95, 10], [120, 30]].map(([x, y]) => grip(x, y, true)), [0, 0, null, null]);
  // In a narrow word, the nearer end counts. If a text reads leftwards, its start is at the right.
  assert.equal(pure.endAt(laidOut([4]), { first: 0, last: 0 }, 3, 30, rightwards, true).dx, -1);
  assert.deepEqual(pure.endAt(rects, { first: 0, last: 1 }, 93, 10, rightwards, false), { fixed: 0, dx: 0, dy: 0 });
  assert.deepEqual([93, 2].map((x) => grip(x, 10, false, { first: 1, last: 0 }, () => false)), [0, 1]);
});

test("a drag from a gap or margin selects the first word it enters", () => {
  const rects = laidOut([40, 50], [60]);
  assert.deepEqual(drag(rects, [42, 10], [60, 10]), { first: 1, last: 1 });
  assert.deepEqual(drag(rects, [43, 10], [20, 10]), { first: 0, last: 0 });
  assert.deepEqual(drag(rects, [-30, 40], [30, 40]), { first: 2, last: 2 });
  assert.deepEqual(drag(rects, [-30, 40], [60, 10]), { first: 1, last: 1 });
  assert.equal(drag(rects, [200, 10], [300, 10]), null);
});

test("a drag does not select a line that it has not entered", () => {
  const rects = laidOut([40, 50], [60, 30], [20]);
  assert.deepEqual(drag(rects, [50, 10], [-9, 40]), { first: 1, last: 1 });
  assert.deepEqual(drag(rects, [50, 10], [30, 40]), { first: 1, last: 2 });
  assert.deepEqual(drag(rects, [50, 10], [400, 26]), { first: 1, last: 3 });
  assert.deepEqual(drag(rects, [10, 70], [400, 10]), { first: 2, last: 4 });
});

test("a word broken over two lines is one word", () => {
  const line = { token: 1, left: 0, right: 70, top: 30, bottom: 50 };
  const rects = [...laidOut([40, 50]), line];
  assert.deepEqual(drag(rects, [5, 10], [1, 40]), { first: 0, last: 1 });
  assert.deepEqual(drag(rects, [69, 40], [20, 10]), { first: 0, last: 1 });
});

test("in right-to-left text, words are entered from the right", () => {
  const rects = laidOut([40, 50, 60]).reverse().map((rect, token) => ({ ...rect, token }));
  const leftwards = () => false;
  assert.deepEqual(drag(rects, [150, 10], [92, 10], leftwards), { first: 0, last: 0 });
  assert.deepEqual(drag(rects, [150, 10], [60, 10], leftwards), { first: 0, last: 1 });
});

test("the text of a span keeps its white space", () => {
  const b = box("a  b\nc");
  assert.equal(pure.textOf(b.pieces, 0, 2), "a  b\nc");
  assert.equal(pure.textOf(b.pieces, 1, 1), "b");
});

test("typed text is found at its first whole-word match", () => {
  const b = box("Lagoon and Mar-a-Lago , Lago");
  assert.deepEqual(pure.findText(b.pieces, "Lago"), { first: 6, last: 6 });
  assert.deepEqual(pure.findText(b.pieces, "Mar-a-Lago ,"), { first: 2, last: 7 });
  assert.equal(pure.findText(b.pieces, "goon"), null);
  assert.equal(pure.findText(b.pieces, "lago"), null);
  assert.equal(pure.findText(b.pieces, ""), null);
});

test("typed text may differ in case, apostrophes or spaces", () => {
  const b = box("In St. Mary’s  Church");
  const found = pure.findText(b.pieces, "st. mary's church", pure.simplified);
  assert.equal(pure.textOf(b.pieces, found.first, found.last), "St. Mary’s  Church");
});

test("the payload counts code points, not UTF-16 units", () => {
  const b = box("😀 Lago  e\u0301\n(x_1) <b>&amp;");
  const payload = pure.toPayload([pure.span(0, at(b, "Lago"), at(b, "Lago"))], false, [b]);
  assert.deepEqual(payload, {
    v: 1,
    no_answer: false,
    spans: [{ field: "context", index: 0, start: 2, end: 6 }],
  });
});

test("a span of the question has no index", () => {
  const boxes = [box("Who ?", "question"), box("Ann")];
  const { spans } = pure.toPayload([pure.span(0, 0, 0), pure.span(1, 0, 0)], false, boxes);
  assert.deepEqual(spans[0], { field: "question", start: 0, end: 3 });
  assert.deepEqual(spans[1], { field: "context", index: 0, start: 0, end: 3 });
});

test("a draft is restored unchanged", () => {
  const boxes = [box("Who ?", "question"), box("Ann met Bo"), box("Cy left", "context", 1)];
  const spans = [pure.span(0, 0, 1), pure.span(1, 0, 2), pure.span(2, 1, 1)];
  const draft = JSON.parse(JSON.stringify(pure.toPayload(spans, false, boxes)));
  assert.deepEqual(pure.fromPayload(draft, boxes), { spans, noAnswer: false });
  assert.deepEqual(pure.fromPayload({ v: 1, no_answer: true, spans: [] }, boxes), {
    spans: [],
    noAnswer: true,
  });
});

test("a draft that does not fit the tokens is discarded", () => {
  const boxes = [box("Ann met Bo")];
  const draft = (...spans) => ({ v: 1, no_answer: false, spans });
  const good = { field: "context", index: 0, start: 0, end: 3 };
  assert.equal(pure.fromPayload(draft(good, { ...good, start: 5, end: 7 }), boxes), null);
  assert.equal(pure.fromPayload(draft(good, good), boxes), null);
  assert.equal(pure.fromPayload(draft({ ...good, index: 1 }), boxes), null);
  assert.equal(pure.fromPayload({ ...draft(good), no_answer: true }, boxes), null);
  assert.equal(pure.fromPayload({ ...draft(good), v: 2 }, boxes), null);
  assert.equal(pure.fromPayload(null, boxes), null);
  assert.equal(pure.fromPayload({ label: "neutral" }, boxes), null);
});

test("typing ahead finds the next word and wraps around", () => {
  const texts = ["Lago", "at", "Lake", "é", "!", "Élan"];
  assert.equal(pure.typeAhead(texts, 0, "l"), 2);
  assert.equal(pure.typeAhead(texts, 2, "l"), 0);
  assert.equal(pure.typeAhead(texts, 2, "lag"), 0);
  assert.equal(pure.typeAhead(texts, 0, "!"), 4);
  assert.equal(pure.typeAhead(texts, 0, "él"), 5);
  assert.equal(pure.typeAhead(texts, 0, "e"), 3);
  assert.equal(pure.typeAhead(texts, 0, "ll"), 2);
  assert.equal(pure.typeAhead(texts, 0, "zz"), -1);
  assert.equal(pure.typeAhead(texts, 0, "\u0301"), -1);
});

test("typing ahead matches across adjacent tokens", () => {
  const pieces = [..."ไปสยาม และสมชายมา"].map((text) => ({ text, token: text === " " ? -1 : 0 }));
  const jump = (typed) => pure.typeAhead(pure.textsFrom(pieces, [...typed].length), 0, typed);
  assert.equal(jump("ส"), 2);
  assert.equal(jump("สม"), 9);
  assert.equal(jump("มา"), 14);
  assert.equal(jump("ไปส"), 0);
  assert.equal(jump("มส"), -1);
  const u = box("The U.S. and UN");
  assert.equal(pure.typeAhead(pure.textsFrom(u.pieces, 3), 0, "u.s"), at(u, "U"));
});

/** Two lines of three words, 10 px wide with gaps of 10 px; the second is 30 px lower. */
const rects = [0, 1].flatMap((line) =>
  [0, 1, 2].map((n) => ({
    left: n * 20,
    right: n * 20 + 10,
    top: line * 30,
    bottom: line * 30 + 20,
  })),
);

test("up and down move to the nearest word in the next line", () => {
  assert.equal(pure.onNextLine(rects, 0, 1, 27), 4);
  assert.equal(pure.onNextLine(rects, 5, -1, 45), 2);
  assert.equal(pure.onNextLine(rects, 1, -1, 25), 1);
  assert.equal(pure.onNextLine(rects, 4, 1, 25), 4);
});

test("Home and End use the visual line", () => {
  assert.equal(pure.endOfLine(rects, 4, -1), 3);
  assert.equal(pure.endOfLine(rects, 1, 1), 2);
});

test("a tap near a word selects it, a tap far away selects nothing", () => {
  assert.equal(pure.nearest(rects, 13, 10, 16), 0);
  assert.equal(pure.nearest(rects, 17, 10, 16), 1);
  assert.equal(pure.nearest(rects, 45, 60, 16), 5);
  assert.equal(pure.nearest(rects, 45, 90, 16), -1);
});

test("a name is the run of capitalised words around a word", () => {
  const b = box("Yesterday, Rodrigo Duterte met Ana Maria Paz of Mar-a-Lago. Rome\nBerlin won.");
  const name = (word) => {
    const { first, last } = pure.nameAt(b.pieces, at(b, word));
    return pure.textOf(b.pieces, first, last);
  };
  assert.equal(name("Duterte"), "Rodrigo Duterte");
  assert.equal(name("Maria"), "Ana Maria Paz");
  assert.equal(name("met"), "met");
  assert.equal(name("Yesterday"), "Yesterday"); // a comma follows
  assert.equal(name("Lago"), "Lago"); // between a hyphen and a full stop
  assert.equal(name("Berlin"), "Berlin"); // on another line
});

test("the first word of a sentence is part of a name only if chosen", () => {
  const b = box("In Rio Ada went. “Bo Lee came”");
  const name = (word) => pure.nameAt(b.pieces, at(b, word));
  assert.deepEqual(name("Ada"), { first: 1, last: 2 });
  assert.deepEqual(name("Lee"), { first: at(b, "Lee"), last: at(b, "Lee") });
  assert.deepEqual(name("Bo"), { first: at(b, "Bo"), last: at(b, "Lee") });
});

test("words in capitals are not part of a name", () => {
  const b = box("JAPAN GET LUCKY WIN");
  assert.deepEqual(pure.nameAt(b.pieces, 1), { first: 1, last: 1 });
});
