"""Sentences rendered from templates, and text and tables in Markdown and LaTeX."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.template import Context, Engine
from django.template.loader_tags import BlockNode
from django.utils.text import slugify

from analysis.stats.uncertainty import FEWEST_FOR_BOOTSTRAP
from tasks import columns as table_columns
from tasks.columns import Column, grouped

FEW = "†"  # follows an interval based on fewer than ten annotators
NORMAL = "that the annotators' scores are approximately normal"
ASSUMES = f"{FEW} fewer than {FEWEST_FOR_BOOTSTRAP} annotators: assumes {NORMAL}"
LATIN = 0x180  # the first code point after Latin Extended-A
LATEX_SPECIAL = {
    "\\": r"\textbackslash{}", "&": r"\&", "%": r"\%", "$": r"\$", "#": r"\#", "_": r"\_",
    "{": r"\{", "}": r"\}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}",
    "±": r"$\pm$", "–": "--", "→": r"$\to$", "α": r"$\alpha$", "≥": r"$\ge$", "²": r"$^2$",
    "|": r"\textbar{}", "<": r"\textless{}", ">": r"\textgreater{}", "“": "``", "”": "''",
    # At the start of a row, LaTeX would read a bracket as an option and a star as a variant.
    "[": "{[}", "]": "{]}", "*": "{*}", "−": "$-$", "≤": r"$\le$", "×": r"$\times$",
    "√": r"$\surd$", "σ": r"$\sigma$", "Σ": r"$\Sigma$", "∆": r"$\Delta$", "Δ": r"$\Delta$",
    "…": r"\dots{}", "—": "---", "‘": "`", "’": "'", "·": r"$\cdot$", "°": r"$^\circ$",
    "†": r"\textdagger{}", "\u00a0": "~", "\u2009": r"\,", "`": r"\textasciigrave{}",
}  # fmt: skip


def markdown(text: str) -> str:
    r"""Escape text so that it fits on one line of Markdown.

    >>> markdown("a_b\n*c*")
    'a\\_b \\*c\\*'
    """
    for character in "\\`*_{}[]<>|#":
        text = text.replace(character, "\\" + character)
    return " ".join(text.split())


def latex(text: str) -> str:
    r"""Escape text so that it fits on one line of LaTeX.

    >>> latex("50 % ± 2"), latex("[a]--b")
    ('50 \\% $\\pm$ 2', '{[}a{]}-{}-b')
    """
    line = " ".join("".join(c if c.isprintable() else " " for c in text).split())
    escaped = (LATEX_SPECIAL.get(character, character) for character in line)
    return "".join(_apart(escaped))


def _apart(pieces: Iterable[str]) -> Iterator[str]:
    """Put {} between repeated hyphens and quotation marks, so that LaTeX does not join them."""
    previous = ""
    for piece in pieces:
        yield f"{{}}{piece}" if piece == previous and piece in ("-", "'", ",") else piece
        previous = piece


def is_latin(text: str) -> bool:
    """Return whether all letters are Latin, so that any LaTeX engine and font can print them.

    >>> is_latin("Größe, Łódź"), is_latin("大")
    (True, False)
    """
    return all(ord(character) < LATIN for character in text)


# Sentences in templates/documents/*.txt.

BEFORE_PUNCTUATION = re.compile(r"\s*\n\s*(?=[,.;:)])")  # left where an optional clause was omitted


def rendered(name: str, values: Mapping[str, Any], only: str = "", **more: Any) -> dict[str, str]:
    """Render each block of templates/documents/NAME.txt, or just `only`. Blocks may be empty.

    A block can refer to the text of earlier blocks as `blocks`. White space is collapsed, and any
    between a line break and punctuation is removed. Nothing is escaped, because the right escaping
    depends on the document's format.
    """
    template = Engine.get_default().get_template(f"documents/{name}.txt")
    blocks: dict[str, str] = {}
    values = {**values, **more, "blocks": blocks}
    filled = Context(values, autoescape=False, use_l10n=False)
    with filled.bind_template(template):
        for node in template.nodelist:
            if isinstance(node, BlockNode) and only in ("", node.name):
                text = BEFORE_PUNCTUATION.sub("", node.render(filled))
                blocks[node.name] = " ".join(text.split())
    return blocks


def texts(blocks: Mapping[str, str], beginning: str = "") -> list[str]:
    return [text for name, text in blocks.items() if text and name.startswith(beginning)]


# Tables in LaTeX with the same rows and columns as the page: caption, label, booktabs and notes.
# They require the packages booktabs and threeparttable. The latter puts the notes below the rows,
# so that they stay with the table when it is pasted into a paper.

PACKAGES = "% \\usepackage{booktabs,threeparttable}\n"
NOT_LATIN = "% Texts in other scripts than Latin: compile with XeLaTeX or LuaLaTeX and their font\n"
ONE_COLUMN = 66  # approximate number of characters in one column of a paper


@dataclass(frozen=True)
class PaperTable:
    """A study's table with its caption, column groups and notes.

    `name` is unique within the study. `groups` contains (heading, number of columns) for the
    columns after the first. `notes` give n, what the numbers are, and how they were obtained.
    """

    name: str
    caption: str
    columns: Sequence[Column]
    rows: Sequence[Any]
    notes: Sequence[str] = ()
    groups: Sequence[tuple[str, int]] = ()

    @property
    def headings(self) -> list[str]:
        return [column.heading for column in table_columns.on_page(self.columns)]

    @property
    def cells(self) -> list[list[str]]:
        return table_columns.cells(self.columns, self.rows)

    @property
    def meanings(self) -> list[str]:
        shown = table_columns.on_page(self.columns)
        headings = grouped((column.meaning.rstrip("."), column.heading) for column in shown)
        return [f"{', '.join(names)}: {meaning}." for meaning, names in headings.items() if meaning]

    @property
    def label(self) -> str:
        return f"tab:{slugify(self.name)}"


def explained(notes: Iterable[str], rows: Iterable[Iterable[str]]) -> list[str]:
    """Return the notes, adding an explanation of FEW only if a cell contains it."""
    is_marked = any(FEW in cell for row in rows for cell in row)
    return [note if is_marked else note.replace(f"; {ASSUMES}", "") for note in notes]


def as_latex(table: PaperTable) -> str:
    """Return the table as a float, using table* if it is too wide for one column."""
    lines = list(_lines(table))
    rows = [line for line in lines if isinstance(line, list)]
    width = max(map(len, rows))
    # The approximate width of a row: the sum of the longest cell in each column.
    characters = sum(max(map(len, column)) + 2 for column in zip(*rows, strict=True))
    body = "\n".join(
        line if isinstance(line, str) else rf"{' & '.join(map(latex, line))} \\" for line in lines
    )
    below = explained([*table.notes, *table.meanings], table.cells)
    notes = "\n".join(rf"\item {latex(note)}" for note in below)
    listed = f"\\begin{{tablenotes}}\\footnotesize\n{notes}\n\\end{{tablenotes}}\n" if notes else ""
    place = "table*" if characters > ONE_COLUMN else "table"
    text = (
        f"\\begin{{{place}}}\n\\centering\n\\begin{{threeparttable}}\n"
        f"\\caption{{{latex(table.caption)}}}\n\\label{{{table.label}}}\n"
        f"\\begin{{tabular}}{{l{'c' * (width - 1)}}}\n\\toprule\n{body}\n\\bottomrule\n"
        f"\\end{{tabular}}\n{listed}\\end{{threeparttable}}\n\\end{{{place}}}\n"
    )
    return PACKAGES + ("" if is_latin(text) else NOT_LATIN) + text


def _lines(table: PaperTable) -> Iterator[list[str] | str]:
    if table.groups:
        over = (rf"\multicolumn{{{n}}}{{c}}{{{latex(name)}}}" for name, n in table.groups)
        yield rf" & {' & '.join(over)} \\"
    yield ["" if table.groups else table.headings[0], *table.headings[1:]]
    yield r"\midrule"
    yield from table.cells
