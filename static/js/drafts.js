/**
 * Unsent answers, kept in this tab until they are sent: one draft per turn.
 * Where the browser refuses storage there are simply no drafts.
 */

const PREFIX = "draft:";

export function keepDraft(key, draft) {
  try {
    sessionStorage.setItem(PREFIX + key, JSON.stringify(draft));
  } catch {
    // Storage full or forbidden: the answer is still on the page.
  }
}

/** The draft of that turn, or null. */
export function readDraft(key) {
  try {
    return JSON.parse(sessionStorage.getItem(PREFIX + key));
  } catch {
    return null;
  }
}

/** Drop every draft but that of the question now on the page: no other can still be sent. */
export function dropDrafts(exceptKey) {
  try {
    for (const name of Object.keys(sessionStorage)) {
      if (name.startsWith(PREFIX) && name !== PREFIX + exceptKey) sessionStorage.removeItem(name);
    }
  } catch {
    // No storage, no drafts.
  }
}
