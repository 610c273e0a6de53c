"""The building blocks of documents: paragraphs, facts, tables, quotations and figures in sections.

A document can be rendered as a web page, an offline file or Markdown.
"""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

from django.template.loader import render_to_string
from django.utils.text import slugify

from tasks import columns as table_columns
from tasks.columns import Column

LONGEST_UNBROKEN = 26  # characters in one table cell
LONGEST_BOLD = 60  # characters of an answer in a checklist


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
    name: str
    text: str
    is_code: bool = False


@dataclass(frozen=True)
class Facts:
    rows: Sequence[Fact]
    kind: ClassVar[str] = "facts"


@dataclass(frozen=True)
class Quote:
    name: str
    text: str
    kind: ClassVar[str] = "quote"


@dataclass(frozen=True)
class Grid:
    """A table with a caption, headings and text cells. The first cell of each row is its header."""

    caption: str
    columns: Sequence[str]
    rows: Sequence[Sequence[str]]
    notes: Sequence[str] = ()
    label: str = ""  # used in references to it ("Table 1. ")
    kind: ClassVar[str] = "grid"

    @classmethod
    def of(
        cls, caption: str, columns: Sequence[Column], rows: Iterable[Any], notes: Sequence[str] = ()
    ) -> "Grid":
        headings = [column.heading for column in table_columns.on_page(columns)]
        return cls(caption, headings, table_columns.cells(columns, rows), notes)

    @property
    def is_tight(self) -> bool:
        return all(len(cell) <= LONGEST_UNBROKEN for row in self.rows for cell in row)


@dataclass(frozen=True)
class Picture:
    """A figure stored in `name`.svg. `description` is its text alternative."""

    name: str
    caption: str
    description: str
    label: str = ""  # used in references to it ("Figure 1. ")
    kind: ClassVar[str] = "picture"


@dataclass(frozen=True)
class Entry:
    """A checklist item with its answer and evidence. `title` is in our own words.

    `field` is the short-form field that supplies the answer, or "" if the study itself does.
    """

    number: str
    title: str
    reply: str  # status, text, choices or checkbox
    answer: str
    evidence: str = ""
    field: str = ""

    @property
    def is_short(self) -> bool:
        return len(self.answer) <= LONGEST_BOLD


@dataclass(frozen=True)
class Form:
    """A completed checklist. `name` is used in file names, and `source` credits its authors."""

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
    authors: Sequence[str]
    affiliations: Sequence[str]
    facts: Sequence[Fact]


@dataclass(frozen=True)
class Document:
    title: str
    sections: Sequence[Section] = field(default_factory=list)
    front: Front | None = None


def numbered(sections: Iterable[Section]) -> list[Section]:
    counts: Counter[str] = Counter()

    def with_number(block: Block) -> Block:
        if not isinstance(block, Grid | Picture):
            return block
        noun = "Table" if isinstance(block, Grid) else "Figure"
        counts[noun] += 1
        return replace(block, label=f"{noun} {counts[noun]}. ")

    return [replace(s, blocks=[with_number(block) for block in s.blocks]) for s in sections]


def meanings(columns: Sequence[Column]) -> str:
    return " ".join(f"{c.heading}: {c.meaning.rstrip('.')}." for c in columns if c.meaning)


def as_markdown(document: Document) -> str:
    text = render_to_string("documents/document.md", {"document": document})
    return text.rstrip("\n") + "\n"


def code(text: str) -> str:
    fence = _fence(text, 1)
    return f"{fence}{text}{fence}"


def fenced(text: str) -> str:
    fence = _fence(text, 3)
    return f"{fence}text\n{text}\n{fence}"


def _fence(text: str, shortest: int) -> str:
    """Return a run of backticks that is longer than any in the text."""
    longest = max((len(run) for run in re.findall(r"`+", text)), default=0)
    return "`" * max(shortest, longest + 1)
