/**
 * Unsent answers, one draft per turn: kept in this tab at once, and on the server after a pause, so
 * that a closed tab or another device loses nothing. The newer one of the two is restored.
 *
 * Where the browser refuses storage, or the server cannot be reached, there is the other one.
 */

const PREFIX = "draft:";
const PAUSE = 2000; // milliseconds without a change before the server is told

/** @typedef {{ v: number, [field: string]: unknown }} Draft */

/** @type {{ key: string, url: string, draft: Draft, timer: ReturnType<typeof setTimeout> } | null} */
let waiting = null;

/** What the page knows of a turn: where its draft goes, and the one that the server had. */
function turnOf(key) {
  const turn = globalThis.document?.querySelector("#turn");
  return turn?.dataset.key === key ? turn : null;
}

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
  const { key, url, draft } = waiting;
  forget();
  const token = document.querySelector("[name=csrfmiddlewaretoken]")?.value ?? "";
  const body = new URLSearchParams({ turn: key, draft: JSON.stringify(draft), csrfmiddlewaretoken: token });
  fetch(url, { method: "POST", body, keepalive: true }).catch(() => {
    // The draft of this tab is still there, and the next change tries again.
  });
}

/** Of no use any more: the answer itself is on its way. */
export function forget() {
  if (waiting) clearTimeout(waiting.timer);
  waiting = null;
}

/** The draft of that turn, or null: the newer one of this tab's and the server's. */
export function readDraft(key) {
  const here = ofTab(key);
  const there = ofServer(key);
  if (!here || !there) return here?.draft ?? there?.draft ?? null;
  return there.at > here.at ? there.draft : here.draft;
}

function ofTab(key) {
  try {
    const kept = JSON.parse(sessionStorage.getItem(PREFIX + key));
    if (!kept) return null;
    const { at = 0, ...draft } = kept;
    return { at, draft };
  } catch {
    return null;
  }
}

/** Its age is told by the server's clock, so that this device's may be wrong. */
function ofServer(key) {
  const { draft, draftAge } = turnOf(key)?.dataset ?? {};
  if (!draft) return null;
  try {
    return { at: performance.timeOrigin - 1000 * Number(draftAge), draft: JSON.parse(draft) };
  } catch {
    return null;
  }
}

/** Drop every draft but that of the question now on the page: no other can still be sent. */
export function dropDrafts(exceptKey) {
  if (waiting && waiting.key !== exceptKey) forget();
  try {
    for (const name of Object.keys(sessionStorage)) {
      if (name.startsWith(PREFIX) && name !== PREFIX + exceptKey) sessionStorage.removeItem(name);
    }
  } catch {
    // No storage, no drafts.
  }
}

if (globalThis.document) {
  addEventListener("pagehide", send);
  document.addEventListener("htmx:beforeRequest", forget);
}
