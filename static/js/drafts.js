/**
 * Unsent answers, one draft per turn: kept in this tab at once, and on the server after a pause, so
 * that a closed tab or another device loses nothing. An answer that is being sent is kept in the browser
 * too until it is stored: where sending fails, closing the tab loses nothing either, and the server is
 * told the draft as soon as it answers. The newest of the three is restored.
 *
 * Where the browser refuses storage, or the server cannot be reached, there are the others.
 */

const PREFIX = "draft:"; // in sessionStorage, by turn
const UNSENT = "unsent:"; // in localStorage, by participation: one answer at most
const PAUSE = 2000; // milliseconds without a change before the server is told
const LONGEST = 7 * 24 * 3600 * 1000; // milliseconds that an unsent answer stays in the browser

/** @typedef {{ v: number, [field: string]: unknown }} Draft */
/** @typedef {{ at: number, draft: Draft }} Kept */

/** @type {{ key: string, url: string, draft: Draft, timer: ReturnType<typeof setTimeout> } | null} */
let waiting = null;

/** What the page knows of a turn: where its draft goes, and the one that the server had. */
function turnOf(key) {
  const turn = globalThis.document?.querySelector("#turn");
  return turn?.dataset.key === key ? turn : null;
}

/** The question that is on the page. */
const asked = () => globalThis.document?.querySelector("#turn[data-state=question]")?.dataset.key;

export function keepDraft(key, draft) {
  try {
    sessionStorage.setItem(PREFIX + key, JSON.stringify({ ...draft, at: Date.now() }));
  } catch {
    // Storage full or forbidden: the answer is still on the page.
  }
  const url = turnOf(key)?.dataset.drafts;
  if (!url) return;
  forget();
  waiting = { key, url, draft, timer: setTimeout(send, PAUSE) };
}

/** Tell the server now what it has not been told yet; also as the page goes away. */
export function send() {
  if (!waiting) return;
  const sent = waiting;
  forget();
  const { key, url, draft } = sent;
  const token = document.querySelector("[name=csrfmiddlewaretoken]")?.value ?? "";
  const body = new URLSearchParams({ turn: key, draft: JSON.stringify(draft), csrfmiddlewaretoken: token });
  fetch(url, { method: "POST", body, keepalive: true })
    .then((reply) => { if (!reply.ok) throw new Error(`${reply.status}`); })
    .catch(() => {
      // It is still in this browser; the next change or failure, or leaving the page, tries again.
      if (asked() === key) waiting ??= sent;
    });
}

/** Of no use any more: the answer itself is on its way. */
export function forget() {
  if (waiting) clearTimeout(waiting.timer);
  waiting = null;
}

/** The draft of that turn, or null: the newest one of this tab's, the server's and the browser's. */
export function readDraft(key) {
  const newest = [ofTab(key), ofServer(key), ofBrowser(key)].reduce(
    (one, other) => (other && other.at > (one?.at ?? -Infinity) ? other : one), null,
  );
  return newest?.draft ?? null;
}

/** What storage may refuse, and what may be written there by others. @template T @param {() => T} act */
function attempt(act) {
  try {
    return act();
  } catch {
    return null;
  }
}

/** @returns {Kept | null} */
const ofTab = (key) => attempt(() => {
  const { at = 0, ...draft } = JSON.parse(sessionStorage.getItem(PREFIX + key));
  return { at, draft };
});

/** Its age is told by the server's clock, so that this device's may be wrong. @returns {Kept | null} */
const ofServer = (key) => attempt(() => {
  const { draft, draftAge } = turnOf(key).dataset;
  return { at: performance.timeOrigin - 1000 * Number(draftAge), draft: JSON.parse(draft) };
});

// --- What is being sent -----------------------------------------------------------------------------

/** The address holds the secret token of the participation: only a short hash of it is written down. */
function nameOfUnsent() {
  let hash = 0x811c9dc5;
  for (const sign of globalThis.location?.pathname ?? "") {
    hash = Math.imul(hash ^ sign.codePointAt(0), 0x01000193);
  }
  return UNSENT + (hash >>> 0).toString(16);
}

/** @returns {Kept & { turn: string } | null} */
const unsent = (name) => attempt(() => JSON.parse(localStorage.getItem(name)));

/** @returns {Kept | null} */
function ofBrowser(key) {
  const kept = unsent(nameOfUnsent());
  return kept?.turn === key ? kept : null;
}

/** The answer of that turn is on its way: until it is stored it outlives this tab. */
export function hold(key) {
  const draft = readDraft(key);
  const kept = JSON.stringify({ turn: key, at: Date.now(), draft });
  if (draft) attempt(() => localStorage.setItem(nameOfUnsent(), kept));
}

/** Sending has failed: the server is told the draft as soon as it answers. */
function tellAgain() {
  const key = asked();
  const url = key && turnOf(key).dataset.drafts;
  const kept = url && ofBrowser(key);
  if (!kept) return;
  forget();
  waiting = { key, url, draft: kept.draft, timer: setTimeout(send) };
}

/** @param {() => Storage} storage @param {string} prefix @param {(name: string) => boolean} isOver */
const drop = (storage, prefix, isOver) => attempt(() => {
  const names = Object.keys(storage()).filter((name) => name.startsWith(prefix) && isOver(name));
  for (const name of names) storage().removeItem(name);
});

/** Drop every draft but that of the question now on the page: no other can still be sent. */
export function dropDrafts(exceptKey) {
  if (waiting && waiting.key !== exceptKey) forget();
  drop(() => sessionStorage, PREFIX, (name) => name !== PREFIX + exceptKey);
  // Of another participation only what nobody came back for.
  const own = nameOfUnsent();
  drop(() => localStorage, UNSENT, (name) => {
    const { turn, at = 0 } = unsent(name) ?? {};
    return name === own ? turn !== exceptKey : Date.now() - at > LONGEST;
  });
}

if (globalThis.document) {
  addEventListener("pagehide", send);
  addEventListener("online", tellAgain);
  document.addEventListener("htmx:beforeRequest", () => {
    forget();
    if (asked()) hold(asked());
  });
  // Stored, whatever is shown next: this may be the last that the page does.
  document.addEventListener("htmx:afterRequest", ({ detail }) => {
    const isStored = detail.xhr.status >= 200 && detail.xhr.status < 300;
    if (isStored && detail.elt.matches(".turn-form")) dropDrafts(null);
  });
  for (const failure of ["htmx:responseError", "htmx:sendError", "htmx:timeout"]) {
    document.addEventListener(failure, tellAgain);
  }
}
