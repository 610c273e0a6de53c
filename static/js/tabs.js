/** Scrolls the tabs sideways on a phone, so that the current tab is visible. */

for (const link of document.querySelectorAll(":is(.tabs, .subtabs, .views) [aria-current]")) {
  const row = link.closest("nav");
  const { left, width } = link.getBoundingClientRect();
  row.scrollLeft += left + width / 2 - row.getBoundingClientRect().left - row.clientWidth / 2;
}
