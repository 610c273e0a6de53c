/**
 * Loads the pictures of a page one by one once the page is there, so that it is whole in print.
 *
 * The server draws each when it is asked for. Without this script a browser loads all at once.
 */

async function inTurn() {
  for (const picture of document.querySelectorAll('img[loading="lazy"]')) {
    picture.loading = "eager";
    await picture.decode().catch(() => {}); // one that fails must not keep the others
  }
}

if (document.readyState === "complete") inTurn();
else addEventListener("load", inTurn, { once: true });
