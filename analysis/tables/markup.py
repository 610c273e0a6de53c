"""Texts inside Markdown and LaTeX that mean themselves."""

LATEX_SPECIAL = {
    "\\": r"\textbackslash{}", "&": r"\&", "%": r"\%", "$": r"\$", "#": r"\#", "_": r"\_",
    "{": r"\{", "}": r"\}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}",
    "±": r"$\pm$", "–": "--", "→": r"$\to$", "α": r"$\alpha$", "≥": r"$\ge$", "²": r"$^2$",
    "|": r"\textbar{}", "<": r"\textless{}", ">": r"\textgreater{}", "“": "``", "”": "''",
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
    r"""A text on one line of LaTeX.

    >>> latex("50 % ± 2")
    '50 \\% $\\pm$ 2'
    """
    return "".join(LATEX_SPECIAL.get(character, character) for character in text).replace("\n", " ")
