/**
 * What becomes of an answer on its way to the server, and what the page says meanwhile.
 *
 * While it is sent the form cannot be changed. Where the network or the server fails, the page
 * sends it again by itself, later and later, and at last gives up; the same answer sent twice is
 * stored once. Where the server no longer knows this page (403: another token; 404: the example is
 * gone), the page is loaded again once, and says why. Nothing happens here on import, so that the
 * pure part runs in Node.
 */

import { gettext, together } from "./sentences.js";

const PAUSES = [2, 4, 8, 15, 30]; // seconds before each new try; the last one again and again
const GIVE_UP = 300; // seconds after the first failure
const SAY_SAVING = 400; // milliseconds: shorter than that, nobody has to be told
const MARK = "reloaded";

/**
 * Seconds until try number `tries` (from 0), `waited` seconds after the first failure; null to give
 * up. A server that says how long to wait is waited for.
 * @param {number} tries
 * @param {number} waited
 * @param {number} [asked]
 */
export function pauseBefore(tries, waited, asked = 0) {
  if (waited >= GIVE_UP) return null;
  return Math.max(PAUSES[Math.min(tries, PAUSES.length - 1)], Math.min(asked, 60));
}

/**
 * What to do about a failed reply: "reload", "again" or "stop". Status 0 is no reply at all.
 * @param {number} status
 */
export function cureOf(status) {
  if (status === 403 || status === 404) return "reload";
  return status === 0 || status === 408 || status === 429 || status >= 500 ? "again" : "stop";
}

/** @param {number} status */
export function reasonOf(status) {
  if (status === 0) return gettext("No connection.");
  if (status === 408) return gettext("The server does not answer.");
  if (status === 429) return gettext("The server is busy.");
  if (status >= 500) return gettext("The server has a problem.");
  return gettext("The server refused this (%(status)s).", { status: String(status) });
}

// --- The page -------------------------------------------------------------------------------------

const page = {
  /** @type {HTMLFormElement | null} */
  form: null,
  tries: 0,
  failedAt: 0,
  timer: 0,
};

/** Listen to what is sent from this page, and say why it was loaded again, if it was. */
export function watchSending() {
  document.addEventListener("htmx:beforeRequest", begin);
  document.addEventListener("htmx:afterSettle", finish);
  document.addEventListener("htmx:responseError", ({ detail }) => fail(detail.elt, detail.xhr));
  document.addEventListener("htmx:sendError", ({ detail }) => fail(detail.elt, null));
  document.addEventListener("htmx:timeout", ({ detail }) => fail(detail.elt, { status: 408 }));
  addEventListener("online", () => page.timer && sendAgain());
  sayWhyReloaded();
  addEventListener("load", () => setTimeout(() => { history.scrollRestoration = "auto"; }));
}

function begin({ target }) {
  if (!target.matches("form") || !target.closest("#turn")) return;
  page.form = target;
  clear();
  target.inert = true;
  page.timer = window.setTimeout(() => say(gettext("Saving…")), SAY_SAVING);
}

function finish({ target }) {
  if (target.id !== "turn") return;
  clear();
  page.form = null;
  page.tries = 0;
  remember(null);
}

/** Stop what was planned, and take back what was said. */
function clear() {
  clearTimeout(page.timer);
  clearInterval(page.timer);
  page.timer = 0;
  document.querySelector("[data-sending]")?.remove();
}

function fail(element, xhr) {
  const status = xhr?.status ?? 0;
  const cure = cureOf(status);
  if (cure === "reload" && reloadOnce(status)) return;
  if (element !== page.form) return; // what asks again by itself, such as the page that waits
  clear();
  if (page.tries === 0) page.failedAt = performance.now();
  const waited = (performance.now() - page.failedAt) / 1000;
  const asked = Number(xhr?.getResponseHeader?.("Retry-After")) || 0;
  const pause = cure === "again" ? pauseBefore(page.tries, waited, asked) : null;
  page.tries += 1;
  if (pause === null) stop(cure, status);
  else wait(status, pause);
}

/** What is kept while it cannot be sent: an answer, or nothing (Continue after a reveal). */
const kept = () =>
  page.form.matches(".turn-form") ? gettext("Your answer is kept.") : gettext("Nothing is lost.");

function wait(status, pause) {
  const notice = say(`${reasonOf(status)} `);
  const clock = document.createElement("span");
  clock.ariaHidden = "true"; // seen to run, and not read out every second
  notice.querySelector("p").append(clock, kept());
  const until = performance.now() + 1000 * pause;
  const show = () => {
    const left = Math.ceil((until - performance.now()) / 1000);
    const told = gettext("Trying again in %(seconds)s s.", { seconds: left });
    if (left > 0) clock.textContent = `${told} `;
    else sendAgain();
  };
  show();
  page.timer = window.setInterval(show, 250);
  offer(notice, gettext("Try now"), sendAgain);
}

function sendAgain() {
  const { form } = page;
  clear();
  if (form?.isConnected) form.requestSubmit(form.querySelector("[data-submit]"));
}

/** Give up: the answer can be changed again, and sent by its own button. */
function stop(cure, status) {
  page.tries = 0;
  page.form.inert = false;
  const helps = cure === "again"
    ? [gettext("Submit again, or close this page and come back later.")]
    : [
      gettext("Loading the page again has not helped."),
      gettext("Please allow cookies for this site, or open your personal link in another browser."),
    ];
  const notice = say(together(gettext("Not sent."), reasonOf(status), kept(), ...helps));
  if (cure === "again") offer(notice, gettext("Try again"), sendAgain);
  else offer(notice, gettext("Load the page again"), () => location.reload());
}

/** A sentence above the page; it takes no room in it. */
function say(sentence) {
  document.querySelector("[data-sending]")?.remove();
  const notice = document.createElement("div");
  notice.className = "sending";
  notice.dataset.sending = "";
  notice.setAttribute("role", "status");
  document.querySelector("main").append(notice);
  const text = document.createElement("p");
  text.textContent = sentence;
  notice.append(text);
  return notice;
}

function offer(notice, name, action) {
  const button = document.createElement("button");
  button.type = "button";
  button.textContent = name;
  button.addEventListener("click", action);
  notice.append(button);
  // The button that was pressed is inert now; what has the focus elsewhere keeps it.
  if (document.activeElement === document.body) button.focus({ preventScroll: true });
}

// --- Loading the page again -----------------------------------------------------------------------

/** What is shown here: this turn, or another state of the same participation. */
function shown() {
  const turn = /** @type {HTMLElement | null} */ (document.querySelector("#turn"));
  return `${location.pathname} ${turn?.dataset.key ?? ""}`;
}

/** Load the page again, unless that was in vain before, or cannot be noted. @param {number} status */
function reloadOnce(status) {
  if (recall()?.shown === shown()) return false;
  if (!remember({ shown: shown(), status, isTold: false })) return false;
  history.scrollRestoration = "manual"; // the page says why at its top
  location.reload();
  return true;
}

/** Note why the page is loaded again; whether that could be noted. @param {object | null} mark */
function remember(mark) {
  try {
    if (mark) sessionStorage.setItem(MARK, JSON.stringify(mark));
    else sessionStorage.removeItem(MARK);
    return true;
  } catch {
    return false; // without storage a page that is loaded again could do so for ever
  }
}

function recall() {
  try {
    return JSON.parse(sessionStorage.getItem(MARK));
  } catch {
    return null;
  }
}

/** @param {number} status @param {boolean} isSame whether the same turn is shown as before */
function whyReloaded(status, isSame) {
  if (!isSame) {
    return together(
      gettext("What you sent last was not stored: this task had changed in the meantime."),
      gettext("This is where you are now."),
    );
  }
  const why = status === 403
    ? gettext("This page was loaded again, because this browser signed in or lost its cookies after it was opened.")
    : gettext("This page was loaded again, because the server did not know what was sent.");
  return together(why, gettext("Your answer is not stored yet: please submit it again."));
}

function sayWhyReloaded() {
  const mark = recall();
  if (!mark || mark.isTold) return;
  const isSame = mark.shown === shown();
  remember(isSame ? { ...mark, isTold: true } : null);
  if (isSame && !document.querySelector("#turn")) return; // it goes on by itself
  const notice = document.createElement("p");
  notice.className = "notice";
  notice.setAttribute("role", "alert");
  notice.textContent = whyReloaded(mark.status, isSame);
  // Within the turn it moves no button, and goes with it.
  (document.querySelector(".turn-reading") ?? document.querySelector("main")).prepend(notice);
}
