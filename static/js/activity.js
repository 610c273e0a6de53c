/**
 * The time worked: displays it live, and sends activity signals to the server.
 *
 * While the page is visible and was used within the study's cut-off, it sends a signal every 20
 * seconds. The server counts by its own clock; this clock only displays an estimate. The page also
 * reports how often and how long it was left, and that text was pasted, but never the text.
 */

import { earnedInWords, timeInWords } from "./sentences.js";

const EVERY = 20_000; // milliseconds between two activity signals
const USED = ["pointerdown", "pointermove", "keydown", "scroll", "touchstart", "input"];

let clock = null;
let usedAt = performance.now();
let leftAt = null;
let told = { blurs: 0, away_seconds: 0, pastes: 0 };

const idle = () => (performance.now() - usedAt) / 1000;

for (const event of USED) {
  addEventListener(event, () => { usedAt = performance.now(); }, { capture: true, passive: true });
}
addEventListener("paste", () => { told.pastes += 1; }, { capture: true });

function leave() {
  if (leftAt !== null || !clock) return;
  leftAt = performance.now();
  told.blurs += 1;
  ping();
}

function comeBack() {
  if (leftAt === null) return;
  told.away_seconds += Math.round((performance.now() - leftAt) / 1000);
  leftAt = null;
  usedAt = performance.now();
}

addEventListener("blur", leave);
addEventListener("focus", comeBack);
document.addEventListener("visibilitychange", () => (document.hidden ? leave() : comeBack()));

/** Send a signal; data that cannot be sent go with the next one. */
async function ping() {
  const shown = clock?.shown.closest("[data-ping]");
  const token = document.querySelector("[name=csrfmiddlewaretoken]")?.value;
  if (!shown || !token) return;
  const sent = told;
  told = { blurs: 0, away_seconds: 0, pastes: 0 };
  const body = new URLSearchParams({ turn: shown.dataset.key, csrfmiddlewaretoken: token });
  for (const name in sent) body.set(name, String(sent[name]));
  try {
    const reply = await fetch(shown.dataset.ping, { method: "POST", body, keepalive: true });
    if (!reply.ok) throw new Error(`${reply.status}`);
  } catch {
    for (const name in sent) told[name] += sent[name];
  }
}

setInterval(() => {
  if (clock && leftAt === null && !document.hidden && idle() < clock.cutoff) ping();
}, EVERY);

/** Continue from the server's count for the displayed turn. */
export function startClock(turn) {
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
