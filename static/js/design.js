/**
 * Helps with filling in a design: offers shot counts as chips, and derives a name from the title.
 * Both remain ordinary text fields.
 */

const shots = /** @type {HTMLInputElement} */ (document.querySelector("[name=shots]"));
const field = /** @type {HTMLInputElement} */ (document.querySelector("[name=name]"));
const title = /** @type {HTMLInputElement} */ (document.querySelector("[name=title]"));
const tasks = /** @type {HTMLInputElement[]} */ ([...document.querySelectorAll("[name=tasks]")]);

const chosen = () => new Set(shots.value.split(/[\s,]+/).filter(Boolean));

const chips = document.createElement("div");
chips.className = "chips";
chips.setAttribute("role", "group");
chips.setAttribute("aria-label", "Sizes of training splits");
chips.addEventListener("click", (event) => {
  if (!(event.target instanceof HTMLButtonElement)) return;
  const numbers = chosen();
  const size = event.target.value;
  if (!numbers.delete(size)) numbers.add(size);
  shots.value = [...numbers].sort((a, b) => Number(a) - Number(b)).join(" ");
  shots.dispatchEvent(new Event("input", { bubbles: true }));
});
shots.before(chips);

/** Offer 0 and the sizes listed in the labels of the selected tasks, or of all tasks if none is selected. */
function offer() {
  const selected = tasks.filter((box) => box.checked);
  const sizes = (selected.length ? selected : tasks).flatMap(
    (box) => box.closest("label")?.textContent.match(/\d+(?=[,)])/g) ?? [],
  );
  const buttons = [...new Set(["0", ...sizes])].sort((a, b) => Number(a) - Number(b)).map((size) => {
    const chip = document.createElement("button");
    chip.type = "button";
    chip.className = "secondary compact";
    chip.textContent = chip.value = size;
    return chip;
  });
  chips.replaceChildren(...buttons);
  press();
}

function press() {
  const numbers = chosen();
  for (const chip of chips.querySelectorAll("button")) {
    chip.setAttribute("aria-pressed", String(numbers.has(chip.value)));
  }
}

for (const box of tasks) box.addEventListener("change", offer);
shots.addEventListener("input", press);
offer();

title.addEventListener("change", () => {
  const words = title.value.normalize("NFKD").replace(/\p{M}/gu, "").toLowerCase().match(/[a-z0-9]+/g);
  if (!field.value && words) field.value = words.join("-").slice(0, field.maxLength);
});
