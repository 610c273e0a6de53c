/**
 * A button that copies the text of the linked file.
 *
 *   <copy-file><a href="table.tex" aria-label="Intervals as LaTeX">LaTeX</a></copy-file>
 *
 * Without scripts, or if the browser has no clipboard, only the link is shown.
 */

const SHOWN_FOR = 2000; // milliseconds

class CopyFile extends HTMLElement {
  connectedCallback() {
    const link = this.querySelector("a");
    if (!link || this.querySelector("button") || !navigator.clipboard) return;
    const button = document.createElement("button");
    button.type = "button";
    button.className = "compact secondary outline";
    button.textContent = "Copy";
    button.setAttribute("aria-label", `Copy ${link.getAttribute("aria-label") ?? link.textContent}`);
    const status = document.createElement("span");
    button.addEventListener("click", async () => {
      status.setAttribute("role", "status"); // not earlier: page updates would announce an empty one
      status.textContent = (await this.copied(link.href)) ? "Copied" : "Could not copy. Use the link.";
      setTimeout(() => (status.textContent = ""), SHOWN_FOR);
    });
    this.append(" ", button, " ", status);
  }

  /** Copy the text at an address, and return whether this succeeded. @param {string} address */
  async copied(address) {
    try {
      const reply = await fetch(address);
      if (!reply.ok) return false;
      await navigator.clipboard.writeText(await reply.text());
      return true;
    } catch {
      return false;
    }
  }
}

customElements.define("copy-file", CopyFile);
