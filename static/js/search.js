/**
 * The search window, and the keys of researchers' pages. `/`, Ctrl-K and `?` open the window. `g`
 * followed by `o`, `p` or `r` opens a tab of the study. All keys without Ctrl can be switched off
 * in the window.
 */

export {};

const OFF = "handful-keys-off"; // in localStorage
const TABS = { o: "Overview", p: "Participants", r: "Results" };
const WAIT = 150; // milliseconds after the last letter typed

const content = /** @type {HTMLTemplateElement} */ (document.querySelector("#search-window"));
const dialog = document.createElement("dialog");
dialog.id = "search";
dialog.setAttribute("aria-labelledby", "search-title");
dialog.append(content.content);
document.body.append(dialog);

const input = /** @type {HTMLInputElement} */ (dialog.querySelector("[name=q]"));
const found = /** @type {HTMLElement} */ (dialog.querySelector("[data-found]"));
const keys = /** @type {HTMLInputElement} */ (dialog.querySelector("[data-keys]"));
let timer = 0;
let isAfterG = false;

/** Show the search results, unless the search text has changed in the meantime. */
async function look() {
  const words = input.value;
  const address = new URL(input.form?.action ?? "");
  address.searchParams.set("q", words);
  const reply = await fetch(address);
  if (!reply.ok || reply.redirected || words !== input.value) return;
  const page = new DOMParser().parseFromString(await reply.text(), "text/html");
  found.replaceChildren(...(page.querySelector("#found")?.childNodes ?? []));
}

function open() {
  if (!dialog.open) dialog.showModal();
  input.select();
}

/** @param {KeyboardEvent} event */
function press(event) {
  if (event.key === "k" && (event.ctrlKey || event.metaKey) && !event.altKey && !event.shiftKey) {
    event.preventDefault();
    return open();
  }
  const target = /** @type {Element} */ (event.target);
  const isTyping = target.closest("input, select, textarea, [contenteditable], dialog");
  if (isTyping || !keys.checked || event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.key === "/" || event.key === "?") {
    event.preventDefault();
    open();
  } else if (isAfterG && event.key in TABS) {
    const name = TABS[/** @type {keyof typeof TABS} */ (event.key)];
    const tabs = /** @type {NodeListOf<HTMLAnchorElement>} */ (document.querySelectorAll(".tabs a"));
    for (const tab of tabs) if (tab.textContent === name) location.assign(tab.href);
  }
  isAfterG = event.key === "g";
}

keys.checked = localStorage.getItem(OFF) === null;
keys.addEventListener("change", () => {
  if (keys.checked) localStorage.removeItem(OFF);
  else localStorage.setItem(OFF, "1");
});
input.addEventListener("input", () => {
  clearTimeout(timer);
  timer = setTimeout(look, WAIT);
});
document.addEventListener("keydown", press);
document.querySelector("a[data-search]")?.addEventListener("click", (event) => {
  event.preventDefault();
  open();
});
