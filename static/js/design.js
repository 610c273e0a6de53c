/**
 * Helps to fill in a design: offers numbers of shots as chips, and makes a name from the title.
 * Both remain ordinary text fields.
 */

const shots = /** @type {HTMLInputElement} */ (document.querySelector("[name=shots]"));
const field = /** @type {HTMLInputElement} */ (document.querySelector("[name=name]"));
const title = /** @type {HTMLInputElement} */ (document.querySelector("[name=title]"));
const tasks = /** @type {NodeListOf<HTMLInputElement>} */ (
  document.querySelectorAll("[name=tasks]")
);

/** The sizes of the training splits that the tasks' labels list. */
const sizes = [...tasks].flatMap((box) => box.closest("label")?.textContent.match(/\d+(?=[,)])/g) ?? []);
const chosen = () => new Set(shots.value.split(/[\s,]+/).filter(Boolean));

const chips = document.createElement("div");
chips.className = "chips";
for (const size of [...new Set(["0", ...sizes])].sort((a, b) => Number(a) - Number(b))) {
  const chip = document.createElement("button");
  chip.type = "button";
  chip.className = "secondary compact";
  chip.textContent = size;
  chip.addEventListener("click", () => {
    const numbers = chosen();
    if (!numbers.delete(size)) numbers.add(size);
    shots.value = [...numbers].sort((a, b) => Number(a) - Number(b)).join(" ");
    shots.dispatchEvent(new Event("input", { bubbles: true }));
  });
  chips.append(chip);
}

function press() {
  const numbers = chosen();
  for (const chip of chips.children) {
    chip.setAttribute("aria-pressed", String(numbers.has(chip.textContent ?? "")));
  }
}

if (sizes.length) {
  shots.before(chips);
  shots.addEventListener("input", press);
  press();
}

title.addEventListener("change", () => {
  const words = title.value.normalize("NFKD").replace(/\p{M}/gu, "").toLowerCase().match(/[a-z0-9]+/g);
  if (!field.value && words) field.value = words.join("-").slice(0, field.maxLength);
});
