/**
 * Shows the progress of an upload, and a warning if too much is selected. Dropping a folder on the
 * field selects all files in it, which browsers only do for files.
 *
 * Without this script, the form is an ordinary one.
 */

/** @param {Event} event */
function form(event) {
  const target = /** @type {HTMLElement} */ (event.target);
  return /** @type {HTMLFormElement | null} */ (target.closest?.("form.upload-form"));
}

document.addEventListener("change", (event) => {
  const field = /** @type {HTMLInputElement} */ (event.target);
  if (!form(event) || field.type !== "file") return;
  const bytes = [...field.files].reduce((sum, file) => sum + file.size, 0);
  const most = Number(form(event).dataset.mostBytes);
  const megabytes = Math.ceil(bytes / 1e6);
  const warning = `These files are ${megabytes} MB. You can upload at most ${most / 1e6} MB.`;
  showMessage(form(event), bytes > most ? warning : "");
  form(event).querySelector("[data-send]").disabled = bytes > most;
});

document.addEventListener("drop", async (event) => {
  const target = /** @type {HTMLElement} */ (event.target);
  const field = /** @type {HTMLInputElement | null} */ (target.closest?.(".drop-zone [type=file]"));
  const items = field ? [...event.dataTransfer.items] : [];
  const entries = items.map((item) => item.webkitGetAsEntry()).filter((entry) => entry);
  if (!entries.some((entry) => entry.isDirectory)) return;
  event.preventDefault();
  const selected = new DataTransfer();
  try {
    for (const file of (await Promise.all(entries.map(filesIn))).flat()) selected.items.add(file);
  } catch {
    showMessage(field.form, "The folder could not be read. Try again, or drop its files.");
    return;
  }
  field.files = selected.files;
  field.dispatchEvent(new Event("change", { bubbles: true }));
});

/**
 * Return the files in a dropped file or folder, including its subfolders.
 * @param {any} entry
 * @returns {Promise<File[]>}
 */
async function filesIn(entry) {
  if (entry.isFile) return [await new Promise((resolve, reject) => entry.file(resolve, reject))];
  const reader = entry.createReader();
  const files = [];
  for (;;) {
    // A reader returns no more than 100 entries at a time.
    const batch = await new Promise((resolve, reject) => reader.readEntries(resolve, reject));
    if (!batch.length) return files;
    files.push(...(await Promise.all(batch.map(filesIn))).flat());
  }
}

document.addEventListener("htmx:beforeRequest", (event) => {
  if (!form(event)) return;
  showMessage(form(event), "");
  form(event).querySelector("[data-sending]").hidden = false;
});

document.addEventListener("htmx:xhr:progress", (event) => {
  const { loaded, total } = event.detail;
  if (form(event) && total) form(event).querySelector("[data-sending] progress").value = loaded / total;
});

for (const failure of /** @type {const} */ (["htmx:sendError", "htmx:responseError"])) {
  document.addEventListener(failure, (event) => {
    if (!form(event)) return;
    form(event).querySelector("[data-sending]").hidden = true;
    // The server explains why it rejected an upload.
    const refused = [413, 415, 507].includes(event.detail.xhr?.status) && event.detail.xhr.responseText;
    showMessage(form(event), refused || "The files could not be uploaded. They are still selected. Try again.");
  });
}

document.addEventListener("htmx:afterSettle", () => {
  document.querySelector("form.upload-form :is([data-focus], #problems)")?.focus();
});

function showMessage(where, words) {
  where.querySelector("[data-error]").textContent = words;
}
