/** Scrolls the tabs sideways so that the current one is in sight on a phone. */

for (const link of document.querySelectorAll(":is(.tabs, .subtabs, .views) [aria-current]")) {
  const row = link.closest("nav");
  const { left, width } = link.getBoundingClientRect();
  row.scrollLeft += left + width / 2 - row.getBoundingClientRect().left - row.clientWidth / 2;
}
