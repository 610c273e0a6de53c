/**
 * Sends answers, retries after failures, and shows the status.
 *
 * The form is locked while an answer is being sent. If the network or the server fails, the page
 * retries at increasing intervals, and eventually gives up. An answer that is sent twice is stored
 * once. If the server does not recognise the page (403: different token; 404: the example no longer
 * exists), the page reloads once and shows an explanation. Importing this file has no side effects,
 * so that its pure part can run in Node.
 */

import { gettext, together } from "./sentences.js";

const PAUSES = [2, 4, 8, 15, 30]; // seconds before each retry; the last value repeats
const GIVE_UP = 300; // seconds after the first failure
const NOTICE_DELAY = 400; // milliseconds; shorter requests do not show a status
const MARK = "reloaded";

/**
 * Return the number of seconds before retry `tries` (0-based), `waited` seconds after the first
 * failure, or null to give up. `retryAfter` is the delay requested by the server.
 * @param {number} tries
 * @param {number} waited
 * @param {number} [retryAfter]
 */
export function pauseBefore(tries, waited, retryAfter = 0) {
  if (waited >= GIVE_UP) return null;
  return Math.max(PAUSES[Math.min(tries, PAUSES.length - 1)], Math.min(retryAfter, 60));
}

/**
 * Return what to do after a failed reply: "reload", "again" or "stop". Status 0 means that no reply
 * arrived.
 * @param {number} status
 */
export function retryAction(status) {
  if (status === 403 || status === 404) return "reload";
  return status === 0 || status === 408 || status === 429 || status >= 500 ? "again" : "stop";
}

/** @param {number} status */
export function reasonOf(status) {
  if (status === 0) return gettext("No connection.");
  if (status === 408) return gettext("The server is not responding.");
  if (status === 429) return gettext("The server is busy.");
  if (status >= 500) return gettext("The server has a problem.");
  return gettext("The server refused the request (%(status)s).", { status: String(status) });
}

// --- The page -------------------------------------------------------------------------------------

const page = {
  /** @type {HTMLFormElement | null} */
  form: null,
  tries: 0,
  failedAt: 0,
  timer: 0,
};

/** Listen to the requests of this page. If it was reloaded by this script, show the reason. */
export function watchSending() {
  document.addEventListener("htmx:beforeRequest", begin);
  document.addEventListener("htmx:afterSettle", finish);
  document.addEventListener("htmx:responseError", ({ detail }) => fail(detail.elt, detail.xhr));
  document.addEventListener("htmx:sendError", ({ detail }) => fail(detail.elt, null));
  document.addEventListener("htmx:timeout", ({ detail }) => fail(detail.elt, { status: 408 }));
  addEventListener("online", () => page.timer && sendAgain());
  showReloadReason();
  addEventListener("load", () => setTimeout(() => { history.scrollRestoration = "auto"; }));
}

function begin({ target }) {
  if (!target.matches("form") || !target.closest("#turn")) return;
  page.form = target;
  clear();
  target.inert = true;
  page.timer = window.setTimeout(() => showNotice(gettext("Saving…")), NOTICE_DELAY);
}

function finish({ target }) {
  if (target.id !== "turn") return;
  clear();
  page.form = null;
  page.tries = 0;
  remember(null);
}

/** Cancel the retry that is scheduled, and remove the message. */
function clear() {
  clearTimeout(page.timer);
  clearInterval(page.timer);
  page.timer = 0;
  document.querySelector("[data-sending]")?.remove();
}

function fail(element, xhr) {
  const status = xhr?.status ?? 0;
  const action = retryAction(status);
  if (action === "reload" && reloadOnce(status)) return;
  if (element !== page.form) return; // other requests poll, such as those of the waiting page
  clear();
  if (page.tries === 0) page.failedAt = performance.now();
  const waited = (performance.now() - page.failedAt) / 1000;
  const retryAfter = Number(xhr?.getResponseHeader?.("Retry-After")) || 0;
  const pause = action === "again" ? pauseBefore(page.tries, waited, retryAfter) : null;
  page.tries += 1;
  if (pause === null) stop(action, status);
  else wait(status, pause);
}

/** Reassure the user: the answer is kept, or nothing is lost (on Continue after a reveal). */
const reassurance = () =>
  page.form.matches(".turn-form") ? gettext("Your answer is safe on this page.") : gettext("Nothing is lost.");

function wait(status, pause) {
  const notice = showNotice(`${reasonOf(status)} `);
  const clock = document.createElement("span");
  clock.ariaHidden = "true"; // visible, but not announced every second
  notice.querySelector("p").append(clock, reassurance());
  const until = performance.now() + 1000 * pause;
  const show = () => {
    const left = Math.ceil((until - performance.now()) / 1000);
    const countdown = gettext("Trying again in %(seconds)s s.", { seconds: left });
    if (left > 0) clock.textContent = `${countdown} `;
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

/** Give up and unlock the form, so that the user can change the answer and submit it again. */
function stop(action, status) {
  page.tries = 0;
  page.form.inert = false;
  const helps = {
    again: [gettext("Submit again, or close this page and come back later.")],
    reload: [
      gettext("Reloading the page did not help."),
      gettext("Please allow cookies for this site, or open your personal link in another browser."),
    ],
  }[action] ?? [];
  const notice = showNotice(together(gettext("Not sent."), reasonOf(status), reassurance(), ...helps));
  if (action === "again") offer(notice, gettext("Try again"), sendAgain);
  else offer(notice, gettext("Reload the page"), () => location.reload());
}

/** Show a message over the page, outside its layout. */
function showNotice(sentence) {
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
  // The control that was used is now inert, but may keep the focus until the next frame. If the focus
  // is elsewhere, it is not moved.
  const focused = document.activeElement;
  if (focused === document.body || focused.closest("[inert]")) button.focus({ preventScroll: true });
}

// --- Loading the page again -----------------------------------------------------------------------

/** Return what identifies the displayed turn, or else the state of the participation. */
function shown() {
  const turn = /** @type {HTMLElement | null} */ (document.querySelector("#turn"));
  return `${location.pathname} ${turn?.dataset.key ?? ""}`;
}

/** Reload the page, unless a reload has already failed or cannot be recorded. @param {number} status */
function reloadOnce(status) {
  if (recall()?.shown === shown()) return false;
  if (!remember({ shown: shown(), status, isTold: false })) return false;
  history.scrollRestoration = "manual"; // the explanation is at the top of the page
  location.reload();
  return true;
}

/**
 * Record the reason for the reload, and return whether this succeeded.
 * @param {object | null} mark
 */
function remember(mark) {
  try {
    if (mark) sessionStorage.setItem(MARK, JSON.stringify(mark));
    else sessionStorage.removeItem(MARK);
    return true;
  } catch {
    return false; // without storage, reloads might repeat endlessly
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
function reloadReason(status, isSame) {
  if (!isSame) {
    return together(
      gettext("Your last answer was not saved, because this task had already moved on."),
      gettext("This is where you are now."),
    );
  }
  const why = status === 403
    ? gettext("We reloaded this page, because its cookies had changed.")
    : gettext("We reloaded this page, because the server did not recognise the request.");
  return together(why, gettext("Your answer is not saved yet. Please submit it again."));
}

function showReloadReason() {
  const mark = recall();
  if (!mark || mark.isTold) return;
  const isSame = mark.shown === shown();
  remember(isSame ? { ...mark, isTold: true } : null);
  if (isSame && !document.querySelector("#turn")) return; // this page continues automatically
  const notice = document.createElement("p");
  notice.className = "notice";
  notice.setAttribute("role", "alert");
  notice.textContent = reloadReason(mark.status, isSame);
  // A message inside the turn does not move any button, and disappears with the turn.
  (document.querySelector(".turn-reading") ?? document.querySelector("main")).prepend(notice);
}
