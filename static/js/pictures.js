/**
 * Loads the pictures of a page one by one, after the page itself, so that a printed page is
 * complete.
 *
 * The server draws each picture on request. Without this script, browsers request all of them at
 * once.
 */

async function inTurn() {
  for (const picture of document.querySelectorAll('img[loading="lazy"]')) {
    picture.loading = "eager";
    await picture.decode().catch(() => {}); // one failure must not prevent the others
  }
}

if (document.readyState === "complete") inTurn();
else addEventListener("load", inTurn, { once: true });
