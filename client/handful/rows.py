"""Rows of a list or table: iterated as they come, as a data frame, or as plain text."""

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any

from handful.connection import Record
from handful.errors import HandfulError

if TYPE_CHECKING:
    import pandas


class Rows(Iterable[Record]):
    """Rows as dicts. Each iteration asks the server again, page after page."""

    def __init__(self, fetch: Callable[[], Iterable[Record]]):
        self._fetch = fetch

    def __iter__(self) -> Iterator[Record]:
        return iter(self._fetch())

    def to_pandas(self) -> "pandas.DataFrame":
        """All rows as a data frame. Raises HandfulError without pandas."""
        try:
            import pandas  # noqa: PLC0415, an extra
        except ImportError:
            raise HandfulError("Data frames need pandas: pip install pandas") from None
        return pandas.DataFrame(list(self))

    def as_text(self, *columns: str) -> str:
        """All rows as a table for a terminal; of these columns, or of all."""
        rows = list(self)
        names = list(columns) or list(dict.fromkeys(name for row in rows for name in row))
        cells = [names, *([_cell(row.get(name)) for name in names] for row in rows)]
        widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
        return "\n".join(
            "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip()
            for line in cells
        )


def _cell(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, float):
        return f"{value:.3f}"
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)
