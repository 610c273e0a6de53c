/**
 * The page's side of <span-answer>: reading a box of tokens, painting spans on it, making chips.
 */

const LONGEST_QUOTE = 40; // characters

/** How a text is named in a sentence: a long one by its beginning and its end. */
export function quoted(text) {
  const signs = [...text.replace(/\s+/gu, " ")];
  const long = signs.length > LONGEST_QUOTE;
  const shown = long ? [...signs.slice(0, 20), " … ", ...signs.slice(-16)] : signs;
  return `“${shown.join("")}”`;
}

/** Read a box as the server rendered it: see spans.js, plus the elements and where each starts. */
export function readBox(box) {
  const elements = [...box.querySelectorAll("[data-t]")];
  const tokens = elements.map(({ dataset }) => [Number(dataset.s), Number(dataset.e)]);
  let token = -1;
  const pieces = [...box.children].map((element) => {
    const isToken = "t" in element.dataset;
    if (isToken) token += 1;
    return {
      element,
      text: element.textContent,
      token: isToken ? token : -1,
      after: token,
      start: isToken ? tokens[token][0] : (tokens[token]?.[1] ?? 0),
      look: "",
    };
  });
  const { field, index } = box.dataset;
  return { box, field, index: index && Number(index), tokens, elements, pieces };
}

/** Write the texts into their plain copies, which so need not travel twice: paragraph by paragraph. */
export function writePlainly(element, boxes) {
  for (const place of element.querySelectorAll("[data-plain-of]")) {
    const read = boxes.find(({ field, index }) => field === "context" && String(index) === place.dataset.plainOf);
    const paragraphs = read.box.textContent.split(/\n\s*\n/u);
    place.replaceChildren(...paragraphs.map((text) => makeElement("p", text)));
  }
}

/**
 * Give tokens and gaps the look of the first mark ({box, first, last, look}) that covers them.
 * Only what changes is touched: a text may have hundreds of tokens.
 */
export function paintMarks(boxes, marks) {
  boxes.forEach(({ pieces }, box) => {
    const here = marks.filter((mark) => mark.box === box);
    pieces.forEach((piece) => {
      const { token, after } = piece;
      const mark = here.find(({ first, last }) =>
        token < 0 ? first <= after && after < last : first <= token && token <= last,
      );
      let look = mark?.look ?? "";
      if (mark && token === mark.first) look += " hl-starts";
      if (mark && token === mark.last) look += " hl-ends";
      if (piece.look === look) return;
      piece.look = look;
      piece.element.className = look;
      if (token >= 0) piece.element.setAttribute("aria-selected", String(look !== ""));
    });
  });
}

const ENDS = [
  ["start-earlier", "Start earlier", "‹"],
  ["start-later", "Start later", "›"],
  ["end-earlier", "End earlier", "‹"],
  ["end-later", "End later", "›"],
];

/**
 * The list item of one highlight: a pill with a button that chooses it and one that removes it; the
 * active one has buttons that move its ends, each beside the end that it moves.
 */
function makeChip(texts, place, active) {
  const text = texts[place];
  const pill = makeElement("div");
  pill.className = "hl-chip";
  const chip = makeButton("", { chip: place });
  chip.append(makeElement("bdi", text));
  chip.title = text;
  const remove = makeButton("✕", { remove: place });
  remove.setAttribute("aria-label", `Remove ${quoted(text)}`);
  if (place === active) {
    pill.setAttribute("aria-current", "true");
    chip.setAttribute("aria-pressed", "true");
    const ends = ENDS.map(([adjust, name, sign]) => {
      const button = makeButton(sign, { adjust });
      button.setAttribute("aria-label", `${name}: ${quoted(text)}`);
      return button;
    });
    pill.append(...ends.slice(0, 2), chip, ...ends.slice(2), remove);
  } else {
    pill.append(chip, remove);
  }
  const item = makeElement("li");
  item.append(pill);
  if (texts.indexOf(text) < place) {
    item.append(makeElement("small", "same text as another highlight: counts once"));
  }
  return item;
}

/** Make the chips again; the one that had the focus has it afterwards. */
export function renderChips(list, texts, active) {
  const current = /** @type {HTMLElement} */ (document.activeElement);
  const focused = list.contains(current) && current.dataset;
  list.replaceChildren(...texts.map((_, place) => makeChip(texts, place, active)));
  if (!focused) return;
  const kind = ["adjust", "chip", "remove"].find((name) => name in focused);
  list.querySelector(`[data-${kind}="${focused[kind]}"]`)?.focus();
}

/** Exactly one tab stop per box: the token with that number. */
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
