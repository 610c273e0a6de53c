/**
 * The pure part of <span-answer>, without DOM: spans, pointing, moving, typed lines and the
 * payload.
 *
 * A span is {box, first, last}, with token numbers in a box, both inclusive. A box is {field,
 * index, tokens, pieces}. Tokens are [start, end] in code points, as rendered by the server. Pieces
 * are {text, token} in the order of the page, with the number of the token, or -1 for a gap. Lists
 * of spans are sorted, have no overlaps, and are never modified in place.
 */

import { gettext, isolated } from "./sentences.js";

const byPlace = (a, b) => a.box - b.box || a.first - b.first;

const overlap = (a, b) => a.box === b.box && a.first <= b.last && b.first <= a.last;

/** Return the span between two tokens of a box, in either order. */
export function span(box, one, other) {
  return { box, first: Math.min(one, other), last: Math.max(one, other) };
}

/** Return the index of the span that covers a token, or -1. */
export function spanAt(spans, box, token) {
  return spans.findIndex((s) => s.box === box && s.first <= token && token <= s.last);
}

/**
 * Add a span, replacing any that overlap it and, if max is 1, the existing one. Return {spans,
 * replaced}, or null if there are already max spans elsewhere.
 */
export function addSpan(spans, added, max = Infinity) {
  let remaining = spans.filter((s) => !overlap(s, added));
  if (max === 1) remaining = [];
  if (remaining.length >= max) return null;
  return { spans: [...remaining, added].sort(byPlace), replaced: spans.length - remaining.length };
}

/** Return the list without the span at this index. */
export function removeSpan(spans, place) {
  return spans.filter((_, i) => i !== place);
}

/**
 * Move one end of a span by one token. `how` is start-earlier, start-later, end-earlier or
 * end-later. Return {spans}, or {stopped}, a message about what is in the way.
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

/** Return the text between two tokens, including gaps, as on the page. */
export function textOf(pieces, first, last) {
  const from = pieces.findIndex((piece) => piece.token === first);
  const to = pieces.findIndex((piece) => piece.token === last);
  return pieces
    .slice(from, to + 1)
    .map((piece) => piece.text)
    .join("");
}

const isCapitalised = (piece) => /^\p{Lu}.*\p{Ll}/u.test(piece?.text ?? "");
const isSpace = (piece) => piece?.token < 0 && /^[^\S\n]+$/u.test(piece.text);

const beginsSentence = (pieces, place) =>
  /(^|[.!?\u2026:\n])[\s"'\u2018-\u201d(-]*$/u.test(pieces.slice(0, place).map(({ text }) => text).join(""));

/**
 * Return the name around a token as {first, last}: capitalised words that are separated only by
 * spaces. The first word of a sentence is only included if it is the token itself.
 */
export function nameAt(pieces, token) {
  const at = pieces.findIndex((piece) => piece.token === token);
  const isPart = (place) => isCapitalised(pieces[place]) && (place >= at || !beginsSentence(pieces, place));
  const end = (step) => {
    let i = at;
    while (isPart(i) && isSpace(pieces[i + step]) && isPart(i + 2 * step)) i += 2 * step;
    return pieces[i].token;
  };
  return { first: end(-1), last: end(1) };
}

/**
 * Convert a text to what people type: lower case, straight apostrophes and quotes, and single
 * spaces.
 */
export function simplified(text) {
  return text
    .toLowerCase()
    .replace(/[\u2018\u2019\u02bc`]/g, "'")
    .replace(/[\u201c\u201d]/g, '"')
    .replace(/\s+/gu, " ")
    .trim();
}

/**
 * Return the first occurrence of a typed text between token boundaries as {first, last}, or null.
 * Both sides are normalised by the function `like` before they are compared.
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

/** Return {span}, the first occurrence of a typed line in the boxes, or {problem}, the error. */
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

/** Return the payload, which also serves as the draft. It contains only offsets, never text. */
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
 * Read a draft. Return {spans, noAnswer}, or null unless every pair of offsets matches tokens in
 * these boxes, so that a draft for another text, or another version of this page, is discarded.
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
 * Return the text of up to `length` characters starting at each token. If tokens are single
 * characters, typed text covers several of them.
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
 * Return the target of type-ahead, which is the next token whose text (see textsFrom) starts with
 * the typed letters, or -1. A single letter, which may be repeated, is searched for from the next
 * token; several letters are searched for from this one. Case is ignored, and accents are ignored
 * only if nothing else matches.
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
      // Only marks were typed, so bare() returns an empty text, which would match every token.
      const found = form(what) ? search(what, skip, form) : -1;
      if (found >= 0) return found;
    }
  }
  return -1;
}

const middle = (rect) => (rect.left + rect.right) / 2;

/** Return whether two tokens are on the same visual line. Rects are the first box of each token. */
export function sameLine(a, b) {
  return Math.abs(a.top - b.top) < Math.min(a.bottom - a.top, b.bottom - b.top) / 2;
}

/** Return the token on the previous (-1) or next (+1) visual line that is closest to x, or `from`. */
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

/** Return the first (-1) or last (+1) token on the visual line. */
export function endOfLine(rects, from, direction) {
  let i = from;
  while (rects[i + direction] && sameLine(rects[i + direction], rects[from])) i += direction;
  return i;
}

// --- Pointing. Rects are {token, left, right, top, bottom} in the order of the text. A token
// broken over two lines has two rects. `isRightwards(token)` returns its reading direction.

const ENTERED = 6; // px into a word after which a drag includes it
const away = (value, least, most) => Math.max(least - value, 0, value - most);

/** Return the rect for a point, which is the closest one on the closest line. */
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

/**
 * Return how far a point is past the edge at which a rect is entered when reading forward (1) or
 * backward (-1).
 */
function depth(rect, x, direction, isRightwards) {
  return (direction > 0) === isRightwards(rect.token) ? x - rect.left : rect.right - x;
}

/** Return whether the token starts (1) or ends (-1) with this rect. */
function isEdge(rects, rect, direction) {
  const own = rects.filter(({ token }) => token === rect.token);
  return rect === own.at(direction > 0 ? 0 : -1);
}

/**
 * Return the tokens before and after a point. They are the same if the point is on a token, and
 * either may be missing.
 */
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
 * Return the tokens covered by a drag from `pressed` (see sidesOf) to a point, or null. The pressed
 * token is always included. Other tokens are included once the pointer is a few pixels inside them,
 * so that releasing it slightly beyond a word does not add the next one.
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

const GRIP = 6; // px inside a highlight (or 2 outside) in which a mouse can drag its end
const KNOB = 14; // px around the centre of the handle for a finger
const BELOW = 10; // px from the word down to this centre

/**
 * Return the end of a highlight ({first, last}) that is at a point, or null. It is {fixed, dx, dy}:
 * the token at the other end, and the distance of the point from this end. A finger drags the
 * handle below the line.
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
  // A mouse points at the words themselves, as in any other drag.
  return isTouched ? { fixed: end.fixed, dx: end.dx, dy: end.dy } : { fixed: end.fixed, dx: 0, dy: 0 };
}

/** Return the number of the rect closest to a point within `reach`, or -1. */
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
