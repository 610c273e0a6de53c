/** Reject pasted text in typed answers, and show a message, if the design says so. */

import { gettext } from "./sentences.js";

/**
 * @param {import("./answer.js").AnswerElement} answer
 * @param {HTMLElement} field
 * @param {AbortSignal} signal
 */
export function refusePastes(answer, field, signal) {
  if (!("noPaste" in field.dataset)) return;
  for (const kind of ["paste", "drop"]) {
    field.addEventListener(kind, (event) => {
      event.preventDefault();
      answer.showProblem(gettext("You cannot paste text in this study. Please type."));
    }, { signal });
  }
}
