/** Scrolls the menu so that the entry of the open page is visible, even in low windows. */

const menu = document.getElementById("menu");

function show() {
  const current = menu.querySelector("[aria-current]");
  if (!current || menu.scrollHeight <= menu.clientHeight) return;
  const inside = current.getBoundingClientRect().top - menu.getBoundingClientRect().top;
  menu.scrollTop += inside - menu.clientHeight / 2;
}

if (menu) {
  show();
  menu.addEventListener("toggle", show); // opened as a drawer
}
