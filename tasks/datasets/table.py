"""The table that every reader returns, with named columns and rows that know their position.

Values are read as they are: None, text, a number, a list or an object. mapping.py converts them
according to the role of their column.
"""

import math
import re
import tomllib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from tasks.formats import FormatError

MAX_BYTES = 200_000_000  # maximum size of a file, both compressed and uncompressed
MAX_ROWS = 500_000
MAX_COLUMNS = 500
MAX_TEXT = 100_000  # characters in one text
MAX_DEPTH = 20  # levels of nested lists and objects
NAMED = 30  # maximum number of columns listed in an error


def option(meaning: str, default: Any = "", **details: Any) -> Any:
    """Return a dataclass field that is also an option of make_task (argparse's `details`)."""
    return field(default=default, metadata={"help": meaning, **details})


MESSAGES = tomllib.loads(Path(__file__).with_name("errors.toml").read_text("utf-8"))


def message(key: str, **values: object) -> str:
    """Return a message of errors.toml with these values."""
    text: str = MESSAGES[key]
    return text.format(**values)


class DatasetError(FormatError):
    """Raised if a dataset can't be read. The message says where the problem is and what to do."""

    def __init__(self, file: str, problem: str, place: str = "", field: str = ""):
        location = ", ".join(part for part in (file, place, field and f"column {field}") if part)
        ValueError.__init__(self, f"{location}: {problem}" if location else problem)


class Unlabelled(DatasetError):
    """Raised for a row without a gold answer. Such rows can be skipped (--skip-unlabelled)."""


@dataclass
class Table:
    """The rows of a file. Row numbers count `unit`s. `unread` maps unusable columns to reasons."""

    file: str
    unit: str
    columns: list[str]
    rows: list["Row"] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    unread: dict[str, str] = field(default_factory=dict)

    def add(self, number: int, values: dict[str, Any]) -> None:
        if len(self.rows) >= MAX_ROWS:
            raise too_many_rows(self.file)
        self.rows.append(Row(number, values, self))

    def error(self, column: str, problem: str) -> DatasetError:
        return DatasetError(self.file, problem, field=column)

    def check(self, column: str) -> None:
        """Raise DatasetError if the column doesn't exist or can't be read."""
        if column in self.unread:
            raise self.error(column, f"cannot be used: {self.unread[column]}")
        if column in self.columns:
            return
        first, _dot, path = column.partition(".")
        if not (first in self.columns and path):
            names = ", ".join(self.columns[:NAMED]) + (", …" if len(self.columns) > NAMED else "")
            raise self.error(column, f"column not found; the columns are: {names}")


class Row(NamedTuple):
    """A row of a table, with the number that an editor shows for it."""

    number: int
    values: dict[str, Any]
    table: Table

    @property
    def place(self) -> str:
        return f"{self.table.unit} {self.number}"

    def error(self, column: str, problem: str) -> DatasetError:
        return DatasetError(self.table.file, problem, self.place, column)

    def unlabelled(self, column: str) -> Unlabelled:
        problem = "has no label; fill it in, or skip such rows (--skip-unlabelled)"
        return Unlabelled(self.table.file, problem, self.place, column)

    def value(self, column: str) -> Any:
        """Return a value. `doc.text` is the field text of the object doc. Raises DatasetError."""
        if column in self.table.columns:
            return self.values.get(column)
        value: Any = self.values
        for part in column.split("."):
            if not isinstance(value, dict) or part not in value:
                raise self.error(column, "is missing in this row; fill it in or remove the row")
            value = value[part]
        return value

    def text(self, column: str, value: Any = None) -> str:
        """Return a text or number as text. Raises DatasetError if it is neither, or unstorable."""
        value = self.value(column) if value is None else value
        if isinstance(value, bool):
            return "true" if value else "false"
        if isinstance(value, float) and not math.isfinite(value):
            raise self.error(column, "is not a number (NaN or infinite); remove the row")
        if isinstance(value, int | float):
            return str(value)
        if not isinstance(value, str):
            raise self.error(column, f"expected a text, found {_kind(value)}")
        if "\0" in value:
            raise self.error(column, "contains U+0000, which a database cannot store")
        if any("\ud800" <= character <= "\udfff" for character in value):
            raise self.error(column, "contains an unpaired surrogate, not a character")
        if len(value) > MAX_TEXT:
            raise self.error(column, message("long_text", number=len(value), limit=MAX_TEXT))
        return value


def _kind(value: Any) -> str:
    if value is None:
        return "nothing; fill it in or remove the row"
    if isinstance(value, dict):
        return "an object; select one of its fields, as in COLUMN.FIELD"
    return "a list" if isinstance(value, list) else type(value).__name__


def check_name(file: str, name: str, place: str) -> None:
    """Raise DatasetError if the name of a column cannot be stored or shown."""
    if re.search("[\0\ud800-\udfff]", name):
        raise DatasetError(file, message("bad_name", name=name[:100]), place)


def header(file: str, names: Sequence[Any], place: str) -> list[str]:
    """Return the column names. Raises DatasetError unless they are unique and not blank."""
    if len(names) > MAX_COLUMNS:
        raise DatasetError(file, f"{len(names):,} columns; at most {MAX_COLUMNS}", place)
    columns: list[str] = []
    for number, name in enumerate(names, 1):
        text = "" if name is None else str(name).strip()
        if not text:
            raise DatasetError(file, message("no_name"), place, str(number))
        if text in columns:
            earlier = columns.index(text) + 1
            problem = f"has the same name {text!r} as column {earlier}; rename one of them"
            raise DatasetError(file, problem, place, str(number))
        check_name(file, text, place)
        columns.append(text)
    return columns


def from_objects(file: str, unit: str, objects: Iterable[tuple[int, dict[str, Any]]]) -> Table:
    """Build a table from objects. Columns are in order of appearance. Raises DatasetError."""
    table = Table(file, unit, [])
    columns: dict[str, None] = {}
    for number, values in objects:
        table.add(number, values)
        columns.update(dict.fromkeys(values))
        if len(columns) > MAX_COLUMNS:
            raise table.rows[-1].error("", f"more than {MAX_COLUMNS} different columns")
    if not table.rows:
        raise table.error("", "contains no rows")
    table.columns += columns
    return table


def too_many_rows(file: str) -> DatasetError:
    return DatasetError(
        file, f"more than {MAX_ROWS:,} rows; use a part: a task needs a few hundred"
    )
