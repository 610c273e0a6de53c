/**
 * What the annotator's pages need beside the answers: focus after each swap, drafts dropped once they
 * are of no use, keys, the drawer. How an answer is sent is in sending.js.
 *
 * All listeners stand on document: the parts of the page come and go.
 */

import { startClock } from "./activity.js";
import { dropDrafts } from "./drafts.js";
import { watchSending } from "./sending.js";
import { guard, listen, markAsked, meaningOf } from "./turn-keys.js";

const SINGLE_KEYS = "single-keys"; // in localStorage: "off", or nothing

const ABOVE = 4; // px above the gap of a folded question

const BEGINNING = 600; // ms in which nobody has missed an answer yet

let begunAt = 0;

const turn = () => /** @type {HTMLElement | null} */ (document.querySelector("#turn"));
const drawer = () => /** @type {HTMLDetailsElement | null} */ (document.querySelector("#help"));

/** Drafts of other turns can never be sent again, nor can that of an answered one. */
function dropStaleDrafts() {
  const shown = turn();
  if (shown) dropDrafts(shown.dataset.state === "question" ? shown.dataset.key : null);
}

/** What a new turn needs, on a page that was loaded and after each swap. */
function beginTurn() {
  const shown = turn();
  dropStaleDrafts();
  startClock(shown);
  if (!shown) return;
  begunAt = performance.now();
  if (shown.dataset.where) document.title = shown.dataset.where;
  markAsked(drawer(), shown.dataset.askedWindow);
  // Those of an answer are its own element's.
  for (const element of shown.querySelectorAll("[data-scripted]")) {
    if (!element.closest(".turn-work[data-key]")) element.hidden = false;
  }
  const keys = shown.querySelector("[data-single-keys]");
  if (keys) keys.checked = singleKeys();
}

/** After a swap: the verdict, the new question, or what is wrong with the answer. */
function focusNews() {
  const shown = turn();
  const news = shown?.querySelectorAll("[data-focus]") ?? [];
  const target = [...news].find((element) => element.matches("[data-error], [data-notice]")) ?? news[0];
  if (!target) return;
  const isReveal = shown.dataset.state === "reveal";
  if (!isReveal && !target.matches("[data-error]")) scrollTo(0, 0);
  // The panel stays in sight, and the text where it was.
  target.focus({ preventScroll: isReveal });
  if (isReveal) showMistake(shown);
}

/** What was wrong and what is right, if they are out of sight; where nothing sticks, the verdict. */
function showMistake(shown) {
  const form = shown.querySelector("form[data-main]");
  if (getComputedStyle(form).position === "static") {
    form.scrollIntoView({ block: "nearest" });
    return;
  }
  const panel = form.getBoundingClientRect();
  const isBar = panel.left === 0 && panel.top > 0;
  const lowest = isBar ? panel.top : innerHeight;
  const question = shown.querySelector("[data-question]").getBoundingClientRect();
  const highest = Math.max(isBar ? question.bottom : 0, shown.querySelector("header").getBoundingClientRect().bottom);
  // The right answer and the first mark that is not right; the answer alone where both do not fit.
  const gold = shown.querySelector("mark.reveal-missed");
  const first = shown.querySelector("mark:not([data-verdict=right])");
  const wanted = [gold, first].filter(Boolean).map((mark) => mark.getBoundingClientRect());
  if (!wanted.length) return;
  const extent = (rects) => [Math.min(...rects.map(({ top }) => top)), Math.max(...rects.map(({ bottom }) => bottom))];
  const [from, to] = extent(wanted);
  const [top, bottom] = to - from <= lowest - highest ? [from, to] : extent(wanted.slice(0, 1));
  if (top < highest || bottom > lowest) {
    scrollBy({ top: (top + bottom) / 2 - (highest + lowest) / 2 });
  }
}

// A press on what is said about an answer leads to its place in the text; texts are read in full anyway.
document.addEventListener("click", ({ target }) => {
  const said = target instanceof Element && target.closest("[data-finding][data-start]");
  if (!(said instanceof HTMLElement)) return;
  const { segment, start } = said.dataset;
  const passage = document.querySelectorAll("[data-passage]")[Number(segment)];
  passage?.querySelector(`mark[data-start="${start}"]`)?.scrollIntoView({ block: "center" });
});

document.addEventListener("htmx:afterSettle", (event) => {
  if (/** @type {HTMLElement} */ (event.target).id !== "turn") return;
  guard(turn());
  beginTurn();
  focusNews();
});

// A page from the browser's memory may show a question that is answered by now.
addEventListener("pageshow", (event) => {
  if (event.persisted) location.reload();
});

// --- Keys -----------------------------------------------------------------------------------------

function singleKeys() {
  try {
    return localStorage.getItem(SINGLE_KEYS) !== "off";
  } catch {
    return true;
  }
}

document.addEventListener("change", ({ target }) => {
  if (!(target instanceof HTMLInputElement) || !("singleKeys" in target.dataset)) return;
  try {
    if (target.checked) localStorage.removeItem(SINGLE_KEYS);
    else localStorage.setItem(SINGLE_KEYS, "off");
  } catch {
    // No storage: they stay on.
  }
});

/** Is there something to submit, or to continue from? */
const isComplete = (shown) => shown.querySelector("[data-complete], [data-verdict]") !== null;

/** @param {Element} target @returns {import("./turn-keys.js").Place} */
function placeOf(target) {
  if (target.closest("[role=listbox]")) return "passage";
  if (target.closest("textarea, select, input:not([type=radio], [type=checkbox])")) return "typing";
  if (target.closest("a, button, summary, [data-single-keys]")) return "control";
  return target.closest("#turn") || target === document.body || target.id === "main" ? "turn" : "elsewhere";
}

document.addEventListener("keydown", (event) => {
  const shown = turn();
  if (!shown || event.isComposing || event.defaultPrevented || !(event.target instanceof Element)) return;
  const submit = shown.querySelector("[data-submit]");
  const tick = shown.querySelector("[name=no_answer]");
  const choices = shown.querySelectorAll(".turn-choice input");
  const place = shown.querySelector("[data-typing]");
  const meaning = meaningOf(event, {
    place: placeOf(event.target),
    isReveal: shown.dataset.state === "reveal",
    choices: choices.length,
    noAnswer: tick !== null,
    typing: place && "ready" in place.dataset ? place.dataset.typing : "",
    single: singleKeys(),
  });
  if (meaning === null) return;
  event.preventDefault();
  // While an answer is sent, no key changes it either.
  if (meaning !== "help" && shown.querySelector("form[inert]")) return;
  // A second Enter that still belongs to Continue says nothing about the new question.
  if (meaning === "go" && performance.now() - begunAt < BEGINNING && !isComplete(shown)) return;
  if (meaning === "go") submit.click();
  else if (meaning === "help") toggleDrawer();
  else if (meaning === "none") {
    tick.click();
    // On a word of the text the Enter that follows would be the highlighter's.
    tick.focus({ preventScroll: true });
  }
  else if (meaning === "typed") place.typeInto(event.key);
  else {
    choices[meaning - 1].click();
    // Where the study says so, a choice is the answer.
    if (shown.querySelector("[data-advance]")) submit.click();
  }
});

// --- The question on a phone ----------------------------------------------------------------------

/**
 * Where the question sticks, it folds to two lines once the page is scrolled; a tap unfolds it. A
 * margin keeps the place of the lines that are gone, so that the text does not move.
 */
function foldQuestion() {
  const question = turn()?.querySelector("[data-question]");
  if (!question) return;
  const { position, top } = getComputedStyle(question);
  const isStuck = position === "sticky" && scrollY > 8
    && question.getBoundingClientRect().top <= parseFloat(top) + 1;
  const folds = isStuck && !("unfolded" in question.dataset);
  if (folds === "folded" in question.dataset) return;
  question.style.marginBottom = "";
  question.scrollTop = 0;
  delete question.dataset.folded;
  if (!folds) return;
  const whole = question.offsetHeight;
  question.dataset.folded = "";
  question.style.marginBottom = `${whole - question.offsetHeight}px`;
  // From the gap on, where there is one: what comes before it is scrolled away.
  const gap = /** @type {HTMLElement | null} */ (question.querySelector(".turn-gap"));
  if (gap) question.scrollTop = gap.offsetTop - ABOVE;
  question.toggleAttribute("data-fades", whole > question.offsetHeight + 1);
}

addEventListener("scroll", foldQuestion, { passive: true });
addEventListener("resize", foldQuestion);
document.addEventListener("click", ({ target }) => {
  const question = target instanceof Element && target.closest("[data-question][data-folded]");
  if (!(question instanceof HTMLElement)) return;
  question.dataset.unfolded = "";
  foldQuestion();
});

// --- The drawer -----------------------------------------------------------------------------------

/** @type {HTMLElement | null} what had the focus when a key opened it */
let before = null;

function toggleDrawer() {
  const help = drawer();
  if (!help) return;
  if (help.open) {
    closeDrawer(help);
    return;
  }
  before = /** @type {HTMLElement} */ (document.activeElement);
  help.open = true;
  help.querySelector("[data-drawer]").focus();
}

/** Back to where the keys were: Enter on its own button would only open it again. */
function closeDrawer(help) {
  const focused = /** @type {HTMLElement} */ (document.activeElement);
  const back = before?.isConnected ? before : help.querySelector("summary");
  before = null;
  help.open = false;
  if (!help.contains(focused)) return;
  focused.blur(); // where the body had the focus, it has it again
  back.focus({ preventScroll: true });
}

document.addEventListener("keydown", (event) => {
  const help = drawer();
  if (event.key !== "Escape" || event.defaultPrevented || !help?.open) return;
  event.preventDefault();
  closeDrawer(help);
});

let isClosing = false; // the press that is going on, or was the last, closed the drawer

// A press beside the drawer closes it and does nothing else: it may well lie on a word or a choice.
addEventListener("pointerdown", (event) => {
  const help = drawer();
  isClosing = Boolean(help?.open) && event.target instanceof Node && !help.contains(event.target);
  if (!isClosing) return;
  event.stopPropagation();
  closeDrawer(help);
}, true);
for (const type of ["mousedown", "click"]) {
  addEventListener(type, (event) => {
    // A key or assistive technology clicks without a press.
    if (!isClosing || /** @type {MouseEvent} */ (event).detail === 0) return;
    event.preventDefault();
    event.stopPropagation();
  }, true);
}

watchSending();
listen();
beginTurn();
