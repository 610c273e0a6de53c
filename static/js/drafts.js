/**
 * Drafts of unsent answers, one per turn.
 *
 * A draft is stored in the tab immediately, and on the server after a pause, so that it survives
 * closing the tab or changing devices. While an answer is being sent, the browser also stores it
 * until the server has stored it. If sending fails, the answer thus survives closing the tab, and
 * the draft is sent to the server as soon as it responds. The newest of the three copies is
 * restored.
 *
 * If the browser denies access to storage or the server cannot be reached, the other copies remain.
 */

const PREFIX = "draft:"; // in sessionStorage, by turn
const UNSENT = "unsent:"; // in localStorage, by participation; at most one answer
const PAUSE = 2000; // milliseconds without a change before the draft is sent to the server
const LONGEST = 7 * 24 * 3600 * 1000; // milliseconds for which the browser stores an unsent answer

/** @typedef {{ v: number, [field: string]: unknown }} Draft */
/** @typedef {{ at: number, draft: Draft }} StoredDraft */

/** @type {{ key: string, url: string, draft: Draft, timer: ReturnType<typeof setTimeout> } | null} */
let waiting = null;

/**
 * Return the element of the turn with this key. It contains the URL for its draft, and the draft
 * stored on the server.
 */
function turnOf(key) {
  const turn = globalThis.document?.querySelector("#turn");
  return turn?.dataset.key === key ? turn : null;
}

/** Return the key of the question on the page, if any. */
const currentKey = () => globalThis.document?.querySelector("#turn[data-state=question]")?.dataset.key;

export function keepDraft(key, draft) {
  try {
    sessionStorage.setItem(PREFIX + key, JSON.stringify({ ...draft, at: Date.now() }));
  } catch {
    // Storage is full or not allowed, but the answer is still on the page.
  }
  const url = turnOf(key)?.dataset.drafts;
  if (!url) return;
  forget();
  waiting = { key, url, draft, timer: setTimeout(send, PAUSE) };
}

/** Send the current draft to the server now, even if the page is being closed. */
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
      // The browser still has the draft, and the next change, failure or page exit tries again.
      if (currentKey() === key) waiting ??= sent;
    });
}

/** Cancel the sending of the draft to the server. */
export function forget() {
  if (waiting) clearTimeout(waiting.timer);
  waiting = null;
}

/** Return the turn's newest draft from the tab, the server or the browser, or null. */
export function readDraft(key) {
  const newest = [fromTab(key), fromServer(key), fromBrowser(key)].reduce(
    (one, other) => (other && other.at > (one?.at ?? -Infinity) ? other : one), null,
  );
  return newest?.draft ?? null;
}

/**
 * Run `act`. Return null if storage is not available or contains anything else.
 * @template T
 * @param {() => T} act
 */
function attempt(act) {
  try {
    return act();
  } catch {
    return null;
  }
}

/** @returns {StoredDraft | null} */
const fromTab = (key) => attempt(() => {
  const { at = 0, ...draft } = JSON.parse(sessionStorage.getItem(PREFIX + key));
  return { at, draft };
});

/**
 * Return the draft stored on the server. Its age is computed with the server's clock, because the
 * clock of this device may be wrong.
 * @returns {StoredDraft | null}
 */
const fromServer = (key) => attempt(() => {
  const { draft, draftAge } = turnOf(key).dataset;
  return { at: performance.timeOrigin - 1000 * Number(draftAge), draft: JSON.parse(draft) };
});

// --- The answer being sent -----------------------------------------------------------------------------

/**
 * Return the storage key. The URL contains the secret token of the participation, so the key only
 * contains a short hash of it.
 */
function nameOfUnsent() {
  let hash = 0x811c9dc5;
  for (const sign of globalThis.location?.pathname ?? "") {
    hash = Math.imul(hash ^ sign.codePointAt(0), 0x01000193);
  }
  return UNSENT + (hash >>> 0).toString(16);
}

/** @returns {StoredDraft & { turn: string } | null} */
const readUnsent = (name) => attempt(() => JSON.parse(localStorage.getItem(name)));

/** @returns {StoredDraft | null} */
function fromBrowser(key) {
  const stored = readUnsent(nameOfUnsent());
  return stored?.turn === key ? stored : null;
}

/** Store the answer beyond this tab until the server has stored it, because it is being sent. */
export function storeUnsent(key) {
  const draft = readDraft(key);
  const stored = JSON.stringify({ turn: key, at: Date.now(), draft });
  if (draft) attempt(() => localStorage.setItem(nameOfUnsent(), stored));
}

/** Send the draft to the server as soon as it responds, because sending the answer has failed. */
function resendDraft() {
  const key = currentKey();
  const url = key && turnOf(key).dataset.drafts;
  const stored = url && fromBrowser(key);
  if (!stored) return;
  forget();
  waiting = { key, url, draft: stored.draft, timer: setTimeout(send) };
}

/** @param {() => Storage} storage @param {string} prefix @param {(name: string) => boolean} isOver */
const drop = (storage, prefix, isOver) => attempt(() => {
  const names = Object.keys(storage()).filter((name) => name.startsWith(prefix) && isOver(name));
  for (const name of names) storage().removeItem(name);
});

/** Discard all drafts except that of the current question, as the others can no longer be sent. */
export function dropDrafts(exceptKey) {
  if (waiting && waiting.key !== exceptKey) forget();
  drop(() => sessionStorage, PREFIX, (name) => name !== PREFIX + exceptKey);
  // Discard drafts from other participations only if they have expired.
  const own = nameOfUnsent();
  drop(() => localStorage, UNSENT, (name) => {
    const { turn, at = 0 } = readUnsent(name) ?? {};
    return name === own ? turn !== exceptKey : Date.now() - at > LONGEST;
  });
}

if (globalThis.document) {
  addEventListener("pagehide", send);
  addEventListener("online", resendDraft);
  document.addEventListener("htmx:beforeRequest", () => {
    forget();
    if (currentKey()) storeUnsent(currentKey());
  });
  // The answer has been stored, so the page may be closed.
  document.addEventListener("htmx:afterRequest", ({ detail }) => {
    const isStored = detail.xhr.status >= 200 && detail.xhr.status < 300;
    if (isStored && detail.elt.matches(".turn-form")) dropDrafts(null);
  });
  for (const failure of ["htmx:responseError", "htmx:sendError", "htmx:timeout"]) {
    document.addEventListener(failure, resendDraft);
  }
}
