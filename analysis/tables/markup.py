"""Texts inside Markdown and LaTeX that mean themselves."""

from collections.abc import Iterable, Iterator

LATIN = 0x180  # the first code point after Latin Extended-A
LATEX_SPECIAL = {
    "\\": r"\textbackslash{}", "&": r"\&", "%": r"\%", "$": r"\$", "#": r"\#", "_": r"\_",
    "{": r"\{", "}": r"\}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}",
    "±": r"$\pm$", "–": "--", "→": r"$\to$", "α": r"$\alpha$", "≥": r"$\ge$", "²": r"$^2$",
    "|": r"\textbar{}", "<": r"\textless{}", ">": r"\textgreater{}", "“": "``", "”": "''",
    # At the begin of a row a bracket would be an option of the line before it, a star a variant.
    "[": "{[}", "]": "{]}", "*": "{*}", "−": "$-$", "≤": r"$\le$", "×": r"$\times$",
    "√": r"$\surd$", "σ": r"$\sigma$", "Σ": r"$\Sigma$", "∆": r"$\Delta$", "Δ": r"$\Delta$",
    "…": r"\dots{}", "—": "---", "‘": "`", "’": "'", "·": r"$\cdot$", "°": r"$^\circ$",
    "†": r"\textdagger{}", "\u00a0": "~", "\u2009": r"\,", "`": r"\textasciigrave{}",
}  # fmt: skip


def markdown(text: str) -> str:
    r"""A text on one line of Markdown.

    >>> markdown("a_b\n*c*")
    'a\\_b \\*c\\*'
    """
    for character in "\\`*_{}[]<>|#":
        text = text.replace(character, "\\" + character)
    return " ".join(text.split())


def latex(text: str) -> str:
    r"""A text on one line of LaTeX that means itself, whatever is in it.

    >>> latex("50 % ± 2"), latex("[a]--b")
    ('50 \\% $\\pm$ 2', '{[}a{]}-{}-b')
    """
    line = " ".join("".join(c if c.isprintable() else " " for c in text).split())
    escaped = (LATEX_SPECIAL.get(character, character) for character in line)
    return "".join(_apart(escaped))


def _apart(pieces: Iterable[str]) -> Iterator[str]:
    """Two hyphens or quotation marks in a row would become one sign: {} keeps them apart."""
    before = ""
    for piece in pieces:
        yield f"{{}}{piece}" if piece == before and piece in ("-", "'", ",") else piece
        before = piece


def is_latin(text: str) -> bool:
    """Does the LaTeX that every engine and font has print it: nothing beyond Latin letters?

    >>> is_latin("Größe, Łódź"), is_latin("大")
    (True, False)
    """
    return all(ord(character) < LATIN for character in text)
