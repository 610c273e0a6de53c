/** The DOM part of <span-answer>: reads boxes of tokens, paints spans and creates chips. */

import { gettext, isolated, ngettext, together } from "./sentences.js";

const LONGEST_QUOTE = 40; // characters

/** Quote a text for use in messages, shortening long texts in the middle. */
export function quoted(text) {
  const signs = [...text.replace(/\s+/gu, " ")];
  const long = signs.length > LONGEST_QUOTE;
  const shown = long ? [...signs.slice(0, 20), " … ", ...signs.slice(-16)] : signs;
  return gettext("“%(text)s”", { text: isolated(shown.join("")) });
}

// --- Messages about highlights. Each is a complete sentence, because word order depends on the
// language.

/**
 * Return the message that the first word is selected.
 * @param {string} text as quoted
 * @param {string} granularity of the task
 */
export function startMessage(text, granularity) {
  return granularity === "char"
    ? gettext("%(text)s selected. Now choose the last character.", { text })
    : gettext("%(text)s selected. Now choose the last word.", { text });
}

/** Return the message about what can be done next. @param {boolean} isTouched touch has no Escape key */
export function exitMessage(isTouched) {
  return isTouched
    ? gettext("Or submit to use only this.")
    : gettext("Or submit to use only this. Esc cancels.");
}

/**
 * Return the message that a highlight was added, with the number of highlights and of those
 * replaced.
 */
export function highlightMessage(text, replaced = 0, total = 0) {
  const sentences = [gettext("Highlighted %(text)s.", { text: quoted(text) })];
  if (total) sentences.push(ngettext("%(count)s in total.", "%(count)s in total.", total));
  if (replaced) sentences.push(ngettext("Replaced %(count)s.", "Replaced %(count)s.", replaced));
  return together(...sentences);
}

/**
 * Return the visible message about replaced highlights, which quotes it if there is only one.
 * @param {string[]} texts
 */
export function replacedMessage(texts) {
  if (texts.length === 0) return "";
  if (texts.length === 1) return gettext("Replaced %(text)s.", { text: quoted(texts[0]) });
  return ngettext("Replaced %(count)s.", "Replaced %(count)s.", texts.length);
}

/** @param {number} max highlights that the task allows */
export function limitMessage(max) {
  return ngettext("At most %(count)s highlight.", "At most %(count)s highlights.", max);
}

// --- The boxes ------------------------------------------------------------------------------------

/**
 * Read a box as rendered by the server. See spans.js. The nodes and their starts in code points are
 * added. The box becomes a list of options. Tokens also have their offsets as data-s and data-e.
 */
export function readBox(box) {
  box.setAttribute("role", "listbox");
  box.setAttribute("aria-multiselectable", "true");
  const elements = [...box.querySelectorAll("[data-t]")];
  const tokens = [];
  let start = 0;
  const pieces = [...box.childNodes].map((node) => {
    const text = node.textContent;
    const end = start + [...text].length;
    const isToken = elements[tokens.length] === node;
    if (isToken) {
      tokens.push([start, end]);
      Object.assign(node.dataset, { s: start, e: end });
      node.setAttribute("role", "option");
      node.setAttribute("aria-selected", "false");
    }
    const piece = { node, text, token: isToken ? tokens.length - 1 : -1, after: tokens.length - 1, start, look: "" };
    start = end;
    return piece;
  });
  const { field, index } = box.dataset;
  return { box, field, index: index && Number(index), tokens, elements, pieces };
}

/**
 * Fill in the plain copies of the texts by paragraph, so that the server has to send each text only
 * once.
 */
export function writePlainly(element, boxes) {
  for (const place of element.querySelectorAll("[data-plain-of]")) {
    const read = boxes.find(({ field, index }) => field === "context" && String(index) === place.dataset.plainOf);
    const paragraphs = read.box.textContent.split(/\n\s*\n/u);
    place.replaceChildren(...paragraphs.map((text) => makeElement("p", text)));
  }
}

/**
 * Give tokens and gaps the look of the first mark ({box, first, last, look}) that covers them. Only
 * differences are changed, because a text may have hundreds of tokens. For the same reason, a gap
 * remains plain text until it is covered.
 */
export function paintMarks(boxes, marks) {
  boxes.forEach(({ pieces }, box) => {
    const here = marks.filter((mark) => mark.box === box);
    pieces.forEach((piece, i) => {
      const { token, after } = piece;
      const mark = here.find(({ first, last }) =>
        token < 0 ? first <= after && after < last : first <= token && token <= last,
      );
      let look = mark?.look ?? "";
      if (mark && token === mark.first) look += pieces[i - 1]?.look ? " hl-starts hl-seam" : " hl-starts";
      if (mark && token === mark.last) look += " hl-ends";
      if (piece.look === look) return;
      piece.look = look;
      if (piece.node instanceof Text) {
        const gap = piece.node;
        gap.replaceWith(piece.node = makeElement("span", piece.text));
      }
      piece.node.className = look;
      if (token >= 0) piece.node.setAttribute("aria-selected", String(look !== ""));
    });
  });
}

const endsOf = (text) => [
  ["start-earlier", gettext("Start earlier: %(text)s", { text }), "‹"],
  ["start-later", gettext("Start later: %(text)s", { text }), "›"],
  ["end-earlier", gettext("End earlier: %(text)s", { text }), "‹"],
  ["end-later", gettext("End later: %(text)s", { text }), "›"],
];

/**
 * Return the list item for a highlight: a chip with buttons for selecting and removing it. The
 * active chip also has buttons for moving its ends, each next to the end it moves.
 */
function makeChip(marked, place, active) {
  const { text, box } = marked[place];
  const pill = makeElement("div");
  pill.className = "hl-chip";
  pill.dir = getComputedStyle(box).direction; // the direction of its text, not that of the page
  const chip = makeButton("", { chip: place });
  const words = makeElement("bdi", text);
  words.lang = box.lang;
  chip.append(words);
  chip.title = text;
  const remove = makeButton("×", { remove: place });
  remove.setAttribute("aria-label", gettext("Remove %(text)s", { text: quoted(text) }));
  if (place === active) {
    pill.setAttribute("aria-current", "true");
    chip.setAttribute("aria-pressed", "true");
    const ends = endsOf(quoted(text)).map(([adjust, name, sign]) => {
      const button = makeButton(sign, { adjust });
      button.setAttribute("aria-label", name);
      return button;
    });
    pill.append(...ends.slice(0, 2), chip, ...ends.slice(2), remove);
  } else {
    pill.append(chip, remove);
  }
  const item = makeElement("li");
  item.append(pill);
  if (marked.findIndex((other) => other.text === text) < place) {
    item.append(makeElement("small", gettext("repeated text counts once")));
  }
  return item;
}

/** Clear the text, and set it in the next frame, so that repeated messages are announced. */
export function announce(live, message) {
  live.textContent = "";
  requestAnimationFrame(() => {
    live.textContent = message;
  });
}

/**
 * Render the panel: highlights, the selection in progress, and undo. Narrow windows have no room
 * for the two buttons, so they offer undo in the message about removed highlights (`lost`).
 */
export function renderPanel(answer) {
  const { spans, boxes } = answer;
  const part = (name) => answer.querySelector(`[data-${name}]`);
  const marked = spans.map((span) => ({ text: answer.textOf(span), box: boxes[span.box].box }));
  renderChips(part("chips"), marked, answer.active);
  if (answer.noAnswerTick) answer.noAnswerTick.checked = answer.noAnswer;
  part("pending").hidden = !answer.pending;
  part("no-chips").hidden = spans.length > 0;
  part("count").textContent = spans.length || "";
  part("lost").hidden = !answer.lost;
  part("lost-text").textContent = answer.lost;
  part("undo").disabled = answer.undoStack.length === 0;
  part("redo").disabled = answer.redoStack.length === 0;
}

/** Recreate the chips for {text, box}, and restore the focus. */
function renderChips(list, marked, active) {
  const current = /** @type {HTMLElement} */ (document.activeElement);
  const focused = list.contains(current) && current.dataset;
  list.replaceChildren(...marked.map((_, place) => makeChip(marked, place, active)));
  if (!focused) return;
  const kind = ["adjust", "chip", "remove"].find((name) => name in focused);
  list.querySelector(`[data-${kind}="${focused[kind]}"]`)?.focus();
}

/** Set the tab stop of each box to the token with the given number. */
export function setTabStops(boxes, roving) {
  boxes.forEach(({ elements }, box) => {
    elements.forEach((token, i) => {
      if (i === roving[box]) token.tabIndex = 0;
      else if (token.hasAttribute("tabindex")) token.removeAttribute("tabindex");
    });
  });
}

function makeElement(name, text = "") {
  const made = document.createElement(name);
  made.textContent = text;
  return made;
}

function makeButton(text, data) {
  const made = makeElement("button", text);
  made.type = "button";
  Object.assign(made.dataset, data);
  return made;
}
