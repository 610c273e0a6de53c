/**
 * The annotators' pages, except for answers: focus after each swap, removal of old drafts, keys,
 * the drawer, and the time worked. Answers are sent by sending.js.
 *
 * All listeners are on document, because parts of the page are swapped.
 */

import "./copy.js";
import { dropDrafts } from "./drafts.js";
import { watchSending } from "./sending.js";
import { earnedInWords, timeInWords } from "./sentences.js";
import { guard, listen, markAsked, meaningOf } from "./turn-keys.js";

const SINGLE_KEYS = "single-keys"; // in localStorage: "off", or not set

const FOLDED = 24; // px around the two lines of a folded question (worker.css)

const BEGINNING = 600; // ms after a swap without any messages about a missing answer

const TITLE_DELAY = 100; // ms

let begunAt = 0;

const turn = () => /** @type {HTMLElement | null} */ (document.querySelector("#turn"));
const drawer = () => /** @type {HTMLDetailsElement | null} */ (document.querySelector("#help"));

/** Remove drafts of other turns, and of a turn that has been answered, as they can't be sent. */
function dropStaleDrafts() {
  const shown = turn();
  if (shown) dropDrafts(shown.dataset.state === "question" ? shown.dataset.key : null);
}

/** Set up a turn when the page loads and after each swap. */
function beginTurn() {
  const shown = turn();
  dropStaleDrafts();
  startClock(shown);
  if (!shown) return;
  begunAt = performance.now();
  sentCounts = {};
  isPressed = isScripted = false;
  // Browsers take long to change the title, so do it after the turn is drawn.
  const { where } = shown.dataset;
  if (where) setTimeout(() => { document.title = where; }, TITLE_DELAY);
  markAsked(drawer(), shown.dataset.askedWindow);
  // Answer elements show their scripted parts themselves.
  for (const element of shown.querySelectorAll("[data-scripted]")) {
    if (!element.closest(".turn-work[data-key]")) element.hidden = false;
  }
  const keys = shown.querySelector("[data-single-keys]");
  if (keys) keys.checked = singleKeys();
}

/** After a swap, show the verdict, the new question, or the error in the answer, and focus it if `moves`. */
function focusNews(moves = true) {
  const shown = turn();
  const news = shown?.querySelectorAll("[data-focus]") ?? [];
  const target = [...news].find((element) => element.matches("[data-error], [data-notice]")) ?? news[0];
  if (!target) return;
  const isReveal = shown.dataset.state === "reveal";
  if (!isReveal && !target.matches("[data-error]")) scrollTo(0, 0);
  // The panel stays visible, and the text does not move.
  if (moves) target.focus({ preventScroll: isReveal });
  if (isReveal) showMistake(shown);
}

/**
 * Scroll to the mistake and the correct answer if they are hidden or, if nothing is sticky, to the
 * verdict.
 */
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
  // Show the correct answer and the first wrong mark, or only the answer if there is no room for
  // both.
  const gold = shown.querySelector("mark.reveal-missed");
  const first = shown.querySelector("[data-of]:not([data-verdict=right])");
  const wanted = [gold, first].filter(Boolean).map((mark) => mark.getBoundingClientRect());
  if (!wanted.length) return;
  const extent = (rects) => [Math.min(...rects.map(({ top }) => top)), Math.max(...rects.map(({ bottom }) => bottom))];
  const [from, to] = extent(wanted);
  const [top, bottom] = to - from <= lowest - highest ? [from, to] : extent(wanted.slice(0, 1));
  if (top < highest || bottom > lowest) {
    scrollBy({ top: (top + bottom) / 2 - (highest + lowest) / 2 });
  }
}

// A sentence about an answer links to its marks in the text, and frames them while it is hovered
// over, focused or pressed.
for (const type of ["pointerover", "focusin", "click"]) {
  document.addEventListener(type, (event) => {
    const link = event.target instanceof Element && event.target.closest("[data-finding] a");
    const name = link ? link.getAttribute("href").slice(1) : "";
    const isInstead = link && link.closest("[data-finding=instead]");
    document.querySelectorAll("[data-of]").forEach((mark) => {
      const isMeant = mark.getAttribute("data-of") === name || (isInstead && mark.matches(".reveal-missed"));
      mark.toggleAttribute("data-framed", isMeant);
    });
    if (!link || type !== "click") return;
    event.preventDefault(); // Otherwise, Back would lead to the URL of the link.
    document.getElementById(name)?.scrollIntoView({ block: "center" });
  });
}

// htmx raises two events for each element that it removes, and a text may have hundreds of words.
document.addEventListener("htmx:beforeCleanupElement", ({ detail }) => {
  if (detail.elt.id === "turn") detail.elt.replaceChildren();
});

document.addEventListener("htmx:afterSettle", (event) => {
  if (/** @type {HTMLElement} */ (event.target).id !== "turn") return;
  // Otherwise, the line break after a reply would remain after the next swap.
  const rest = turn()?.nextSibling;
  if (rest instanceof Text) rest.remove();
  guard(turn());
  beginTurn();
  // The following lays out the page, so do it in the frame that draws the turn, after this task.
  const focused = document.activeElement;
  requestAnimationFrame(() => {
    foldQuestion(); // The page may be scrolled, for example when a reveal replaces the question.
    // A key may have already moved it to a word or into the drawer.
    focusNews(document.activeElement === focused);
  });
});

// A page from the back/forward cache may show a question that has been answered.
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
    // Without storage, the keys stay on.
  }
});

for (const type of ["input", "span-answer:change"]) {
  document.addEventListener(type, () => { turn()?.setAttribute("data-changed", ""); });
}

/** Return whether the turn can be submitted or continued. */
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
  // Keys do not change an answer while it is being sent.
  if (meaning !== "help" && shown.querySelector("form[inert]")) return;
  // A second Enter that was meant for Continue must not cause a message about the new question.
  if (meaning === "go" && performance.now() - begunAt < BEGINNING && !isComplete(shown)) return;
  if (meaning === "go") {
    // Enter on "No answer" chooses it, unless something was chosen or removed beforehand.
    if (event.target === tick && !("changed" in shown.dataset)) tick.click();
    submit.click();
  } else if (meaning === "help") toggleDrawer();
  else if (meaning === "none") {
    // For highlights, a second 0 submits. For options, it can restore them.
    (tick.checked && shown.dataset.answer === "spans" ? submit : tick).click();
    // On a word of the text, the next Enter would be handled by the highlighter.
    tick.focus({ preventScroll: true });
  }
  else if (meaning === "typed") place.typeInto(event.key);
  else {
    choices[meaning - 1].click();
    // Submit the choice immediately if the design says so.
    if (shown.querySelector("[data-advance]")) submit.click();
  }
});

// --- The question on a phone ----------------------------------------------------------------------

/**
 * Fold a sticky question to two lines. It scrolls with the page until the text below it reaches
 * these lines: any earlier, the hidden lines would leave a blank band. A tap unfolds it. A margin
 * replaces the hidden lines, so that the text does not move.
 */
function foldQuestion() {
  const question = turn()?.querySelector("[data-question]");
  if (!question) return;
  question.style.top = "";
  const { position, top, lineHeight } = getComputedStyle(question);
  const foldedHeight = 2 * parseFloat(lineHeight) + FOLDED;
  const below = question.nextElementSibling.getBoundingClientRect().top;
  const mayFold = position === "sticky" && !("unfolded" in question.dataset);
  const folds = mayFold && scrollY > 8 && below <= parseFloat(top) + foldedHeight;
  if (folds !== "folded" in question.dataset) {
    question.style.marginBottom = "";
    question.scrollTop = 0;
    delete question.dataset.folded;
    if (folds) hideLines(question);
  }
  if (mayFold && !folds) {
    question.style.top = `${parseFloat(top) - Math.max(0, question.offsetHeight - foldedHeight)}px`;
  }
}

function hideLines(question) {
  const whole = question.offsetHeight;
  question.dataset.folded = "";
  question.style.marginBottom = `${whole - question.offsetHeight}px`;
  // Start at the gap, if any, because the text before it is scrolled away.
  const gap = /** @type {HTMLElement | null} */ (question.querySelector(".turn-gap"));
  if (gap) question.scrollTop = gap.offsetTop;
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

/** @type {HTMLElement | null} the focused element when a key opened it */
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

/** Restore the focus. Otherwise, Enter on the drawer's button would open it again. */
function closeDrawer(help) {
  const focused = /** @type {HTMLElement} */ (document.activeElement);
  const back = before?.isConnected ? before : help.querySelector("summary");
  before = null;
  help.open = false;
  if (!help.contains(focused)) return;
  focused.blur(); // if nothing had the focus, nothing should have it now
  back.focus({ preventScroll: true });
}

document.addEventListener("keydown", (event) => {
  const help = drawer();
  if (event.key !== "Escape" || event.defaultPrevented || !help?.open) return;
  event.preventDefault();
  closeDrawer(help);
});

let isClosing = false; // whether the current or last press closed the drawer

// A press outside the drawer only closes it, because it may be on a word or a choice.
addEventListener("pointerdown", (event) => {
  const help = drawer();
  isClosing = Boolean(help?.open) && event.target instanceof Node && !help.contains(event.target);
  if (!isClosing) return;
  event.stopPropagation();
  closeDrawer(help);
}, true);
for (const type of ["mousedown", "click"]) {
  addEventListener(type, (event) => {
    // Keys and assistive technology cause a click without a press.
    if (!isClosing || /** @type {MouseEvent} */ (event).detail === 0) return;
    event.preventDefault();
    event.stopPropagation();
  }, true);
}

// --- The time worked ------------------------------------------------------------------------------
// The time is displayed live. While the page is visible and was used within the cut-off of the
// study, it sends a signal every 20 seconds. The server counts with its own clock, and this clock
// only displays an estimate. The page also reports how often and how long it was left, that text
// was copied or pasted, and whether a program may have answered, but never a text or a key
// (docs/statistics.md#reports-of-the-browser). These counts are sent with a signal or with the answer.

const EVERY = 20_000; // milliseconds between activity signals
const USED = [
  "pointerdown", "pointermove", "keydown", "scroll", "touchstart", "input", "click", "change", "submit",
];
const AFTER_COPY = 10_000; // milliseconds
const FAR = 30; // pixels

let clock = null;
let usedAt = performance.now();
let leftAt = null;
let copiedAt = -Infinity;
let unsentCounts = {}; // counts that have not been sent
let sentCounts = {}; // counts that were sent with an answer, until the reply arrives
let isPressed = false; // whether a press, tap, key or click started on this turn
let isScripted = false; // whether a script changed or submitted the answer
let isMouse = false; // whether the press that is starting is by a mouse
let seenAt = []; // the last known position of the mouse pointer on the screen

const add = (name, more = 1, counts = unsentCounts) => { counts[name] = (counts[name] ?? 0) + more; };

const idle = () => (performance.now() - usedAt) / 1000;

for (const event of USED) {
  addEventListener(event, ({ isTrusted, type }) => {
    usedAt = performance.now();
    if (isTrusted) isPressed ||= /down|start|click/.test(type);
    else isScripted ||= /change|submit/.test(type);
  }, { capture: true, passive: true });
}

// Count mouse presses to which the pointer did not move. Assistive technology presses without a
// pointer of type mouse, or with a detail of 0.
for (const type of ["pointerdown", "mousedown", "pointermove", "resize"]) {
  addEventListener(type, (/** @type {any} */ { isTrusted, pointerType, detail, screenX, screenY }) => {
    if (type === "pointerdown") isMouse = isTrusted && pointerType === "mouse";
    else if (type !== "mousedown" || (isMouse && detail)) {
      if (detail && Math.hypot(screenX - seenAt[0], screenY - seenAt[1]) > FAR) add("jumps");
      seenAt = [screenX, screenY];
      isMouse = false;
    }
  }, { capture: true });
}
document.documentElement.addEventListener("pointerleave", () => { seenAt = []; });
addEventListener("paste", () => add("pastes"), { capture: true });
document.addEventListener("copy", ({ target }) => {
  if (/** @type {Element} */ (target).matches("input, textarea")) return;
  copiedAt = performance.now();
  add("copies");
});
document.addEventListener("htmx:configRequest", ({ detail }) => {
  if (!detail.elt.matches(".turn-form")) return;
  for (const name in unsentCounts) add(name, unsentCounts[name], sentCounts);
  unsentCounts = {};
  if (!isPressed) sentCounts.no_input = 1;
  if (isScripted || navigator.webdriver) sentCounts.automated = 1;
  if (outerWidth < 0.6 * screen.width) sentCounts.narrow = 1;
  Object.assign(detail.parameters, sentCounts);
});

function leave() {
  if (leftAt !== null || !clock) return;
  leftAt = performance.now();
  add("blurs");
  if (leftAt - copiedAt < AFTER_COPY) add("left_after_copy");
  ping();
}

function comeBack() {
  if (leftAt === null) return;
  add("away_seconds", Math.round((performance.now() - leftAt) / 1000));
  leftAt = null;
  usedAt = performance.now();
}

addEventListener("blur", leave);
addEventListener("focus", comeBack);
document.addEventListener("visibilitychange", () => (document.hidden ? leave() : comeBack()));

/** Send a signal. Whatever cannot be sent is added to the next one. */
async function ping() {
  const shown = clock?.shown.closest("[data-ping]");
  const token = document.querySelector("[name=csrfmiddlewaretoken]")?.value;
  if (!shown || !token) return;
  const sent = unsentCounts;
  unsentCounts = {};
  const body = new URLSearchParams({ turn: shown.dataset.key, csrfmiddlewaretoken: token });
  for (const name in sent) body.set(name, String(sent[name]));
  try {
    const reply = await fetch(shown.dataset.ping, { method: "POST", body, keepalive: true });
    if (!reply.ok) throw new Error(`${reply.status}`);
  } catch {
    for (const name in sent) add(name, sent[name]);
  }
}

setInterval(() => {
  if (clock && leftAt === null && !document.hidden && idle() < clock.cutoff) ping();
}, EVERY);

/** Continue from the server's count for the turn on display. */
function startClock(turn) {
  const shown = turn?.querySelector("[data-worked]");
  clock = shown && {
    shown,
    earned: turn.querySelector("[data-earned]"),
    seconds: Number(shown.dataset.worked),
    cutoff: Number(turn.dataset.cutoff ?? 60),
  };
  usedAt = performance.now();
  showTime();
}

function showTime() {
  if (!clock) return;
  write(clock.shown, timeInWords(clock.seconds));
  if (!clock.earned) return;
  const { earned, most = Infinity } = clock.earned.dataset;
  write(clock.earned, earnedInWords(clock.seconds, Number(earned), Number(most)));
}

function write(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

setInterval(() => {
  if (!clock || leftAt !== null || idle() >= clock.cutoff) return;
  clock.seconds += 1;
  showTime();
}, 1000);

// The waiting page gives the deadline for a decision in local time, which the server does not know.
for (const until of document.querySelectorAll("time[datetime]")) {
  const at = new Date(until.getAttribute("datetime"));
  write(until, at.toLocaleTimeString("en-GB", { hour: "2-digit", minute: "2-digit" }));
}

watchSending();
listen();
beginTurn();
foldQuestion();
