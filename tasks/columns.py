"""What a column of a table is, wherever the table is shown or written."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

# Units of numbers that pages show x 100; in files they are on the scale from 0 to 1.
SHOWN_X_100 = frozenset({"S1 x 100", "score x 100", "points", "percent", "%"})


@dataclass(frozen=True)
class Column:
    """A column of a table: one object for the page, the CSV and the API.

    `name` is its name in CSV and JSON ("" where only the page has it), `heading` what stands above
    it on the page ("" where only files have it), `unit` that of its numbers on the page. `show`
    gives the text of a value; `get` reads the value from a row, else it is the attribute called
    `name`. CSV and JSON have what `stored` gives.
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

    def stored(self, row: Any) -> Any:
        """The same for CSV and JSON, where scores, SDs and differences are not x 100."""
        value = self.value(row)
        if self.unit not in SHOWN_X_100:
            return value
        if isinstance(value, tuple):
            return tuple(map(hundredth, value))
        return hundredth(value)

    @property
    def stored_meaning(self) -> str:
        """What a number of CSV and JSON means."""
        if self.unit not in SHOWN_X_100:
            return self.meaning
        words = self.meaning.rstrip(".")
        of_score = ", in points of the score x 100"
        for scale in (of_score, ", x 100", " x 100", ", in points", " in points", ", in percent"):
            words = words.replace(scale, "")
        return f"{words}; scale 0 to 1"

    def text(self, row: Any) -> str:
        """The cell as a reader meets it."""
        return self.show(self.value(row))


def hundredth(value: float | None) -> float | None:
    """A number that is shown x 100, to 15 digits: 79.8, as printed, is stored as 0.798.

    >>> hundredth(79.8), 79.8 / 100
    (0.798, 0.7979999999999999)
    """
    return None if value is None else float(f"{value / 100:.15g}")


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
