/**
 * The windows of the drawer stay on the page from one turn to the next. The one on what is asked now
 * stands first and is marked.
 */

/** @param {ParentNode | null} drawer  @param {string | undefined} asked the title of that window */
export function markAsked(drawer, asked) {
  const windows = [...(drawer?.querySelectorAll("[data-window]") ?? [])];
  const now = windows.find((each) => asked && each.dataset.window === asked);
  windows.forEach((each) => each.removeAttribute("aria-current"));
  if (!now) return;
  now.setAttribute("aria-current", "true");
  // Only where it moves: moving an element would take the focus from it.
  if (windows[0] !== now) windows[0].before(now);
}
