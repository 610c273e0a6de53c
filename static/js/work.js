/**
 * What the annotator's pages need beside the answers: focus after each swap, drafts dropped once they
 * are of no use, Ctrl+Enter, copying a code or a link. How an answer is sent is in sending.js.
 *
 * All listeners stand on document: the parts of the page come and go.
 */

import { startClock } from "./activity.js";
import { dropDrafts } from "./drafts.js";
import { watchSending } from "./sending.js";

const turn = () => document.querySelector("#turn");

/** Drafts of other turns can never be sent again, nor can that of an answered one. */
function dropStaleDrafts() {
  const shown = turn();
  if (shown) dropDrafts(shown.dataset.state === "question" ? shown.dataset.key : null);
}

/** After a swap: the verdict, the new question, or what is wrong with the answer. */
function focusNews() {
  const news = turn()?.querySelectorAll("[data-focus]") ?? [];
  const target = [...news].find((element) => element.matches(".error, .notice")) ?? news[0];
  if (!target) return;
  if (!target.matches(".error")) scrollTo(0, 0);
  target.focus();
}

document.addEventListener("htmx:afterSettle", (event) => {
  if (event.target.id !== "turn") return;
  dropStaleDrafts();
  startClock(turn());
  focusNews();
});

// A page from the browser's memory may show a question that is answered by now.
addEventListener("pageshow", (event) => {
  if (event.persisted) location.reload();
});

document.addEventListener("keydown", (event) => {
  if (event.key !== "Enter" || event.repeat || !(event.ctrlKey || event.metaKey)) return;
  const form = /** @type {HTMLElement} */ (event.target).closest?.("form.turn-form") ?? turn()?.querySelector("form.turn-form");
  if (!form) return;
  event.preventDefault();
  form.requestSubmit(form.querySelector("[data-submit]"));
});

// --- Copying --------------------------------------------------------------------------------------

document.querySelectorAll("[data-copy]").forEach((place) => {
  const button = place.querySelector("[data-copy-button]");
  if (!navigator.clipboard) return;
  button.hidden = false;
  button.addEventListener("click", async () => {
    const source = place.querySelector("input") ?? place.querySelector("[data-copy-text]");
    let said = "Copied.";
    try {
      await navigator.clipboard.writeText(source.value.trim());
    } catch {
      said = "Not copied: please copy it by hand.";
    }
    place.querySelector("[data-copied]").textContent = said;
  });
});

watchSending();
dropStaleDrafts();
startClock(turn());
