/**
 * The pure part of <span-answer>: spans, pointing, moving, typed lines, the payload. No DOM.
 *
 * A span is {box, first, last}: token numbers in a box, both ends included. A box is
 * {field, index, tokens, pieces}: tokens are [start, end] in code points as the server rendered
 * them, pieces are {text, token} in the order of the page, with the token's number or -1 for a gap.
 * Lists of spans are sorted and free of overlaps, and are never changed in place.
 */

import { gettext, isolated } from "./sentences.js";

const byPlace = (a, b) => a.box - b.box || a.first - b.first;

const overlap = (a, b) => a.box === b.box && a.first <= b.last && b.first <= a.last;

/** A span from any two tokens of a box, in either order. */
export function span(box, one, other) {
  return { box, first: Math.min(one, other), last: Math.max(one, other) };
}

/** The index of the span that covers this token, or -1. */
export function spanAt(spans, box, token) {
  return spans.findIndex((s) => s.box === box && s.first <= token && token <= s.last);
}

/**
 * Add a span. It replaces overlapping spans, and with max 1 the existing one.
 * Returns {spans, replaced}, or null if there are already max spans elsewhere.
 */
export function addSpan(spans, added, max = Infinity) {
  let kept = spans.filter((s) => !overlap(s, added));
  if (max === 1) kept = [];
  if (kept.length >= max) return null;
  return { spans: [...kept, added].sort(byPlace), replaced: spans.length - kept.length };
}

/** The list without the span at that index. */
export function removeSpan(spans, place) {
  return spans.filter((_, i) => i !== place);
}

/**
 * Move one end of a span by one token. `how` is start-earlier, start-later, end-earlier, end-later.
 * Returns {spans} or {stopped}, a message about the obstacle.
 */
export function adjustSpan(spans, place, how, tokenCount) {
  const { box, first, last } = spans[place];
  const step = how.endsWith("later") ? 1 : -1;
  const moved = how.startsWith("start")
    ? { box, first: first + step, last }
    : { box, first, last: last + step };
  if (moved.first < 0) return { stopped: gettext("The highlight already starts at the first word.") };
  if (moved.last >= tokenCount) return { stopped: gettext("The highlight already ends at the last word.") };
  if (moved.first > moved.last) return { stopped: gettext("The highlight is already only one word.") };
  if (spans.some((s, i) => i !== place && overlap(s, moved))) {
    return { stopped: gettext("There is another highlight next to it.") };
  }
  return { spans: spans.map((s, i) => (i === place ? moved : s)) };
}

/** The text from token to token with gaps, as on the page. */
export function textOf(pieces, first, last) {
  const from = pieces.findIndex((piece) => piece.token === first);
  const to = pieces.findIndex((piece) => piece.token === last);
  return pieces
    .slice(from, to + 1)
    .map((piece) => piece.text)
    .join("");
}

/** Lower case, straight apostrophes and quotes, single spaces: how people type a text. */
export function simplified(text) {
  return text
    .toLowerCase()
    .replace(/[\u2018\u2019\u02bc`]/g, "'")
    .replace(/[\u201c\u201d]/g, '"')
    .replace(/\s+/gu, " ")
    .trim();
}

/**
 * The first occurrence of a typed text between token boundaries, {first, last}, or null.
 * A `like` function normalises both sides before the comparison.
 */
export function findText(pieces, wanted, like = (text) => text) {
  const target = like(wanted);
  if (!target) return null;
  for (let i = 0; i < pieces.length; i += 1) {
    if (pieces[i].token < 0) continue;
    let text = "";
    for (let j = i; j < pieces.length && like(text).length <= target.length; j += 1) {
      text += pieces[j].text;
      if (pieces[j].token >= 0 && like(text) === target) {
        return { first: pieces[i].token, last: pieces[j].token };
      }
    }
  }
  return null;
}

/** The first occurrence of a typed line in the boxes, {span}; or {problem}, its error. */
export function readLine(boxes, line) {
  for (const [box, { pieces }] of boxes.entries()) {
    const found = findText(pieces, line);
    if (found) return { span: { box, ...found } };
  }
  for (const { pieces } of boxes) {
    const like = findText(pieces, line, simplified);
    if (like) {
      const meant = isolated(textOf(pieces, like.first, like.last));
      const values = { line: isolated(line), meant };
      return { problem: gettext("“%(line)s” does not match the text exactly. Did you mean “%(meant)s”?", values) };
    }
  }
  const values = { line: isolated(line) };
  return { problem: gettext("“%(line)s” is not in the text. Type whole words, exactly as in the text.", values) };
}

/** The payload and draft: only offsets, never text. */
export function toPayload(spans, noAnswer, boxes) {
  return {
    v: 1,
    no_answer: noAnswer,
    spans: spans.map(({ box, first, last }) => {
      const { field, index, tokens } = boxes[box];
      const offsets = { start: tokens[first][0], end: tokens[last][1] };
      return field === "question" ? { field, ...offsets } : { field, index, ...offsets };
    }),
  };
}

/**
 * Read a draft: {spans, noAnswer}, or null unless every pair of offsets matches tokens of these boxes.
 * A draft of another text, or of another version of this page, is discarded.
 */
export function fromPayload(draft, boxes) {
  if (!draft || draft.v !== 1 || !Array.isArray(draft.spans)) return null;
  let spans = [];
  for (const { field, index, start, end } of draft.spans) {
    const box = boxes.findIndex((b) => b.field === field && (b.index ?? null) === (index ?? null));
    if (box < 0) return null;
    const first = boxes[box].tokens.findIndex((token) => token[0] === start);
    const last = boxes[box].tokens.findIndex((token) => token[1] === end);
    if (first < 0 || last < first) return null;
    const added = addSpan(spans, { box, first, last });
    if (added.replaced) return null;
    spans = added.spans;
  }
  const noAnswer = draft.no_answer === true;
  return noAnswer && spans.length ? null : { spans, noAnswer };
}

/**
 * The text from each token on, up to that many characters: if tokens are single characters, typed
 * text spans several of them.
 */
export function textsFrom(pieces, length) {
  const texts = [];
  pieces.forEach(({ token }, place) => {
    if (token < 0) return;
    let text = "";
    for (let i = place; i < pieces.length && [...text].length < length; i += 1) {
      text += pieces[i].text;
    }
    texts.push(text);
  });
  return texts;
}

/**
 * The target of type-ahead: the next token whose text (see textsFrom) starts with the typed letters,
 * or -1. A single letter (also repeated) searches from the next token, more letters from this one.
 * Case is ignored; accents too, but only for want of another match.
 */
export function typeAhead(texts, from, typed) {
  const bare = (text) => text.normalize("NFD").replace(/\p{M}/gu, "").toLowerCase();
  const lower = (text) => text.normalize("NFC").toLowerCase();
  const letters = [...typed];
  const repeated = letters.every((letter) => letter === letters[0]);
  const search = (what, skip, form) => {
    for (let n = 0; n < texts.length; n += 1) {
      const i = (from + skip + n) % texts.length;
      if (form(texts[i]).startsWith(form(what))) return i;
    }
    return -1;
  };
  const tries = [[typed, letters.length > 1 ? 0 : 1]];
  if (repeated && letters.length > 1) tries.push([letters[0], 1]);
  for (const form of [lower, bare]) {
    for (const [what, skip] of tries) {
      // Only marks were typed: bare() returns an empty text, which would match every token.
      const found = form(what) ? search(what, skip, form) : -1;
      if (found >= 0) return found;
    }
  }
  return -1;
}

const middle = (rect) => (rect.left + rect.right) / 2;

/** Whether two tokens are on the same visual line. Rects are the first box of each token. */
export function sameLine(a, b) {
  return Math.abs(a.top - b.top) < Math.min(a.bottom - a.top, b.bottom - b.top) / 2;
}

/** The token on the previous (-1) or next (+1) visual line that is nearest to x, or `from`. */
export function onNextLine(rects, from, direction, x) {
  let i = from + direction;
  while (rects[i] && sameLine(rects[i], rects[from])) i += direction;
  if (!rects[i]) return from;
  const line = rects[i];
  let best = i;
  for (; rects[i] && sameLine(rects[i], line); i += direction) {
    if (Math.abs(middle(rects[i]) - x) < Math.abs(middle(rects[best]) - x)) best = i;
  }
  return best;
}

/** The first (-1) or last (+1) token of the visual line. */
export function endOfLine(rects, from, direction) {
  let i = from;
  while (rects[i + direction] && sameLine(rects[i + direction], rects[from])) i += direction;
  return i;
}

// --- Pointing. Rects are {token, left, right, top, bottom} in the order of the text; a token that is
// broken over two lines has two. `isRightwards(token)` gives its reading direction.

const ENTERED = 6; // px into a word after which a drag includes it
const away = (value, least, most) => Math.max(least - value, 0, value - most);

/** The rect of a point: the nearest one on the nearest line. */
function rectAt(rects, x, y) {
  const rows = (rect) => away(y, rect.top, rect.bottom);
  const columns = (rect) => away(x, rect.left, rect.right);
  const nearer = (a, b) =>
    rows(b) < rows(a) || (rows(b) === rows(a) && columns(b) < columns(a)) ? b : a;
  const line = rects.reduce(nearer);
  return rects
    .filter((rect) => sameLine(rect, line))
    .reduce((a, b) => (columns(b) < columns(a) ? b : a));
}

/** The distance of a point past the edge where reading forwards (1) or backwards (-1) enters a rect. */
function depth(rect, x, direction, isRightwards) {
  return (direction > 0) === isRightwards(rect.token) ? x - rect.left : rect.right - x;
}

/** Whether the token begins (1) or ends (-1) with this rect. */
function isEdge(rects, rect, direction) {
  const own = rects.filter(({ token }) => token === rect.token);
  return rect === own.at(direction > 0 ? 0 : -1);
}

/** The tokens on both sides of a point; a token under the point is both. They may not exist. */
export function sidesOf(rects, x, y, isRightwards) {
  const rect = rectAt(rects, x, y);
  const { token } = rect;
  const isOutside = (direction) =>
    depth(rect, x, direction, isRightwards) < 0 && isEdge(rects, rect, direction);
  if (isOutside(1)) return { before: token - 1, after: token };
  if (isOutside(-1)) return { before: token, after: token + 1 };
  return { before: token, after: token };
}

/**
 * The tokens of a drag that began at `pressed` (see sidesOf) and is at a point now; null for none.
 * The pressed token always belongs to it. A token that the pointer has entered by only a few pixels
 * does not: releasing slightly beyond a word must not add its neighbour.
 */
export function dragged(rects, pressed, x, y, isRightwards) {
  const now = sidesOf(rects, x, y, isRightwards);
  const { before, after } = pressed;
  if (before < after && now.before === before && now.after === after) return null;
  const rect = rectAt(rects, x, y);
  const direction = rect.token >= after ? 1 : -1;
  const from = direction > 0 ? after : before;
  const least = Math.min(ENTERED, (rect.right - rect.left) / 2);
  const isEntered =
    !isEdge(rects, rect, direction) || depth(rect, x, direction, isRightwards) >= least;
  const to = isEntered || rect.token === from ? rect.token : rect.token - direction;
  return { first: Math.min(from, to), last: Math.max(from, to) };
}

const GRIP = 6; // px inside a highlight, and 2 outside, from which a mouse drags its end
const KNOB = 14; // px around the centre of a finger's handle
const BELOW = 10; // px from the word down to that centre

/**
 * The end of a highlight ({first, last}) at a point: {fixed, dx, dy}, the token at its other end and the
 * distance of the point from the end; or null. A finger drags the handle below the line.
 */
export function endAt(rects, { first, last }, x, y, isRightwards, isTouched) {
  const ends = [[1, first, last], [-1, last, first]].map(([side, token, fixed]) => {
    const rect = rects.filter((each) => each.token === token).at(side > 0 ? 0 : -1);
    const edge = (side > 0) === isRightwards(token) ? rect.left : rect.right;
    const inside = depth(rect, x, side, isRightwards);
    const most = Math.min(GRIP, (rect.right - rect.left) / 3);
    const isHit = isTouched
      ? Math.abs(inside) <= KNOB && Math.abs(y - rect.bottom - BELOW) <= KNOB
      : -2 <= inside && inside <= most && away(y, rect.top, rect.bottom) === 0;
    return { isHit, fixed, dx: x - edge, dy: y - (rect.top + rect.bottom) / 2 };
  });
  const [end] = ends.filter(({ isHit }) => isHit).sort((a, b) => Math.abs(a.dx) - Math.abs(b.dx));
  if (!end) return null;
  // A mouse points at words themselves, as in any other drag.
  return isTouched ? { fixed: end.fixed, dx: end.dx, dy: end.dy } : { fixed: end.fixed, dx: 0, dy: 0 };
}

/** The number of the rect nearest to a point, at most `reach` away, or -1. */
export function nearest(rects, x, y, reach) {
  let best = -1;
  let least = reach;
  rects.forEach((rect, i) => {
    const distance = Math.hypot(away(x, rect.left, rect.right), away(y, rect.top, rect.bottom));
    if (distance < least || (distance === least && best < 0)) {
      best = i;
      least = distance;
    }
  });
  return best;
}
