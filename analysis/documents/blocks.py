"""A document as data: sections of paragraphs, facts, tables, quotations and figures.

The same document is rendered as a page, as a file that opens offline, and as Markdown.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any, ClassVar

from django.utils.text import slugify

from analysis.scores.markup import markdown
from tasks import columns as table_columns
from tasks.columns import Column

LONGEST_UNBROKEN = 26  # characters in a table cell
LONGEST_BOLD = 60  # characters in the answer to a checklist item


@dataclass(frozen=True)
class Paragraph:
    text: str
    kind: ClassVar[str] = "paragraph"


@dataclass(frozen=True)
class Bullets:
    items: Sequence[str]
    kind: ClassVar[str] = "bullets"


@dataclass(frozen=True)
class Fact:
    """A name and its value; `is_code` if every character matters (hashes, recipes)."""

    name: str
    text: str
    is_code: bool = False


@dataclass(frozen=True)
class Facts:
    rows: Sequence[Fact]
    kind: ClassVar[str] = "facts"


@dataclass(frozen=True)
class Quote:
    """Text quoted verbatim under its name, with its line breaks."""

    name: str
    text: str
    kind: ClassVar[str] = "quote"


@dataclass(frozen=True)
class Grid:
    """A table: its caption, headings, and cells as text; the first of each row names the row."""

    caption: str
    columns: Sequence[str]
    rows: Sequence[Sequence[str]]
    notes: Sequence[str] = ()
    number: int = 0
    kind: ClassVar[str] = "grid"

    @classmethod
    def of(
        cls, caption: str, columns: Sequence[Column], rows: Iterable[Any], notes: Sequence[str] = ()
    ) -> "Grid":
        """Return the table with these rows, as on a page."""
        headings = [column.heading for column in table_columns.on_page(columns)]
        return cls(caption, headings, table_columns.cells(columns, rows), notes)

    @property
    def label(self) -> str:
        """The number used in references: "Table 1. ", or "" if tables are not numbered."""
        return f"Table {self.number}. " if self.number else ""

    @property
    def is_tight(self) -> bool:
        """Whether its cells are numbers and short words, which are not wrapped."""
        return all(len(cell) <= LONGEST_UNBROKEN for row in self.rows for cell in row)


@dataclass(frozen=True)
class Picture:
    """A figure, given by its file name (name.svg); `description` is its text alternative."""

    name: str
    caption: str
    description: str
    number: int = 0
    kind: ClassVar[str] = "picture"

    @property
    def label(self) -> str:
        """The number used in references: "Figure 1. ", or "" if figures are not numbered."""
        return f"Figure {self.number}. " if self.number else ""


class Reply(StrEnum):
    """The type of answer of an item."""

    STATUS = "status"  # one of checklists.short_form.Status
    TEXT = "text"  # a number or a description
    CHOICES = "choices"  # any items from a list
    CHECKBOX = "checkbox"


@dataclass(frozen=True)
class Entry:
    """An item of a checklist: `title` in our own words, the answer, and its evidence.

    `field` is the short-form field that it uses, or "" if the study provides the answer.
    """

    number: str
    title: str
    reply: Reply
    answer: str
    evidence: str = ""
    field: str = ""

    @property
    def is_short(self) -> bool:
        """Is the answer a word or a number, set in bold, rather than a sentence?"""
        return len(self.answer) <= LONGEST_BOLD


@dataclass(frozen=True)
class Form:
    """A completed checklist; `name` is used for its file names, `source` names its authors."""

    name: str
    title: str
    source: str
    entries: Sequence[Entry]
    kind: ClassVar[str] = "checklist"


Block = Paragraph | Bullets | Facts | Quote | Grid | Picture | Form


@dataclass(frozen=True)
class Section:
    title: str
    blocks: Sequence[Block]

    @property
    def anchor(self) -> str:
        return slugify(self.title)


@dataclass(frozen=True)
class Front:
    """The head of a document: authors and affiliations, with facts below."""

    authors: Sequence[str]
    affiliations: Sequence[str]
    facts: Sequence[Fact]


@dataclass(frozen=True)
class Document:
    title: str
    sections: Sequence[Section] = field(default_factory=list)
    front: Front | None = None


def numbered(sections: Iterable[Section]) -> list[Section]:
    """Return the same sections with tables and figures numbered in order."""
    counts = {"Table": 0, "Figure": 0}

    def with_number(block: Block) -> Block:
        if not isinstance(block, Grid | Picture):
            return block
        word = "Table" if isinstance(block, Grid) else "Figure"
        counts[word] += 1
        return replace(block, number=counts[word])

    return [replace(s, blocks=[with_number(block) for block in s.blocks]) for s in sections]


def meanings(columns: Sequence[Column]) -> str:
    """Return each column's meaning in sentences."""
    return " ".join(f"{c.heading}: {c.meaning.rstrip('.')}." for c in columns if c.meaning)


def as_markdown(document: Document) -> str:
    """Return the whole document as CommonMark with tables; text is Markdown."""
    parts = [f"# {markdown(document.title)}"]
    if document.front:
        front = document.front
        parts += [
            markdown(", ".join(names)) for names in (front.authors, front.affiliations) if names
        ]
        parts.extend(_lines(Facts(front.facts)))
    for section in document.sections:
        parts.append(f"## {markdown(section.title)}")
        for block in section.blocks:
            parts.extend(_lines(block))
    return "\n\n".join(parts) + "\n"


def _lines(block: Block) -> Iterator[str]:
    match block:
        case Paragraph(text):
            yield markdown(text)
        case Bullets(items):
            yield "\n".join(f"- {markdown(item)}" for item in items)
        case Facts(rows):
            yield "\n".join(
                f"- **{markdown(fact.name)}:** {(_code if fact.is_code else markdown)(fact.text)}"
                for fact in rows
            )
        case Quote(name, text):
            fence = _fence(text, 3)
            yield f"**{markdown(name)}**"
            yield f"{fence}text\n{text}\n{fence}"
        case Grid(caption, columns, rows, notes):
            yield f"**{block.label}{markdown(caption)}**"
            header = [_row(columns), "|---" * len(columns) + "|"]
            yield "\n".join([*header, *(_row(row) for row in rows)])
            for note in notes:
                yield markdown(note)
        case Picture(name, caption, description):
            yield f"![{markdown(description)}](figures/{name}.svg)"
            yield f"{block.label}{markdown(caption)}"
        case Form():
            for item in block.entries:
                title = f"{item.number} {markdown(item.title)}"
                answer = markdown(item.answer)
                yield f"**{title}: {answer}**" if item.is_short else f"**{title}:** {answer}"
                if item.evidence:
                    yield markdown(item.evidence)


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(markdown(cell) for cell in cells)} |"


def _code(text: str) -> str:
    fence = _fence(text, 1)
    return f"{fence}{text}{fence}"


def _fence(text: str, least: int) -> str:
    """Return a run of backticks longer than any in the text."""
    longest = max((len(run) for run in re.findall(r"`+", text)), default=0)
    return "`" * max(least, longest + 1)
