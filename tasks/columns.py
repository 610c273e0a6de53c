"""What a column of a table is, wherever the table is shown or written."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Column:
    """A column of a table: one object for the page, the CSV and the API.

    `name` is its name in CSV and JSON ("" where only the page has it), `heading` what stands above
    it on the page ("" where only files have it), `unit` that of its numbers. `show` gives the text
    of a value; `get` reads the value from a row, else it is the attribute called `name`.
    """

    name: str
    heading: str = ""
    meaning: str = ""
    unit: str = ""
    show: Callable[[Any], str] = str
    get: Callable[[Any], Any] | None = None

    def value(self, row: Any) -> Any:
        """What the row has in this column."""
        return getattr(row, self.name) if self.get is None else self.get(row)

    def text(self, row: Any) -> str:
        """The cell as a reader meets it."""
        return self.show(self.value(row))


def in_files(columns: Iterable[Column]) -> list[Column]:
    """Those that a file has."""
    return [column for column in columns if column.name]


def on_page(columns: Iterable[Column]) -> list[Column]:
    """Those that a page shows."""
    return [column for column in columns if column.heading]


def cells(columns: Iterable[Column], rows: Iterable[Any]) -> list[list[str]]:
    """The page's cells as text, row by row."""
    shown = on_page(columns)
    return [[column.text(row) for column in shown] for row in rows]
