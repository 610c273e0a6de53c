"""Definitions of table columns for pages, files and the API."""

import math
import tomllib
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import datetime
from operator import attrgetter
from pathlib import Path
from typing import Any, TypeVar

Key = TypeVar("Key")
Item = TypeVar("Item")
NOTHING = "–"  # shown in cells without a value

# Pages multiply numbers in these units by 100, whereas files use a scale from 0 to 1.
SHOWN_X_100 = frozenset({"S1 x 100", "score x 100", "points", "percent", "%"})


def grouped(pairs: Iterable[tuple[Key, Item]]) -> dict[Key, list[Item]]:
    """Group items by key, in the order of the pairs.

    >>> grouped([("a", 1), ("b", 2), ("a", 3)])
    {'a': [1, 3], 'b': [2]}
    """
    items: dict[Key, list[Item]] = {}
    for key, item in pairs:
        items.setdefault(key, []).append(item)
    return items


def points(value: float | None) -> str:
    """Format S1 x 100 or a similar number.

    >>> points(83.651), points(math.nan), points(-1e-15)
    ('83.7', '–', '0.0')
    """
    if value is None or not math.isfinite(value):
        return NOTHING
    return f"{value if abs(value) > 1e-9 else 0:.1f}"  # don't show rounding errors as -0.0


def two_digits(value: float) -> str:
    """Format alphas, logarithms, and differences from a mean in SDs."""
    return f"{value:.2f}" if math.isfinite(value) else NOTHING


def p_value(p: float) -> str:
    """Format a p value.

    >>> p_value(0.0004), p_value(0.25)
    ('< .001', '0.250')
    """
    if math.isnan(p):
        return NOTHING
    return "< .001" if p < 0.001 else f"{p:.3f}"


def seconds(value: float) -> str:
    """Format seconds, using more decimals for smaller values.

    >>> seconds(12.34), seconds(1.234), seconds(0.0123)
    ('12.3', '1.23', '0.01')
    """
    if math.isnan(value):
        return NOTHING
    return f"{value:.1f}" if value >= 10 else f"{value:.2f}" if value >= 0.1 else f"{value:.1g}"


def shots_text(shots: int | str | None) -> str:
    """Return "1 shot" or "10 shots". A list such as "0, 10" takes the plural."""
    return f"{shots} shot{'' if str(shots) == '1' else 's'}"


# The format of numbers by unit. For other units and special formats, `show` is used.
FORMS: dict[str, Callable[[Any], str]] = {
    **dict.fromkeys(("S1 x 100", "score x 100", "points", "percent"), points),
    "0 to 1": p_value,
    "-1 to 1": two_digits,
    "SDs": two_digits,
    "seconds": seconds,
    "s": seconds,
}


@dataclass(frozen=True)
class Column:
    """A column of a table, used by the page, the CSV and the API.

    `name` is its name in CSV and JSON ("" if it is only on the page), `heading` is its title on the
    page ("" if it is only in files), and `unit` is the unit of its numbers on the page. `show`
    formats a value; by default, the format depends on the unit (FORMS). `get` reads the value from
    a row or is the name of an attribute ("score.mean"), by default `name`. CSV and JSON contain
    `stored`. `kind` is the type of the values in the API.
    """

    name: str
    heading: str = ""
    meaning: str = ""
    unit: str = ""
    show: Callable[[Any], str] | None = None
    get: Callable[[Any], Any] | str = ""
    kind: Any = str

    def value(self, row: Any) -> Any:
        getter = self.get if callable(self.get) else attrgetter(self.get or self.name)
        return getter(row)

    def stored(self, row: Any) -> Any:
        """Return the value for CSV and JSON, where scores, SDs and differences aren't x 100."""
        value = self.value(row)
        if self.unit not in SHOWN_X_100:
            return value
        if isinstance(value, tuple):
            return tuple(map(hundredth, value))
        return hundredth(value)

    @property
    def stored_meaning(self) -> str:
        if self.unit not in SHOWN_X_100:
            return self.meaning
        meaning = self.meaning.rstrip(".")
        of_score = ", in points of the score x 100"
        for scale in (of_score, ", x 100", " x 100", ", in points", " in points", ", in percent"):
            meaning = meaning.replace(scale, "")
        return f"{meaning}; scale 0 to 1"

    def text(self, row: Any) -> str:
        value = self.value(row)
        form = self.show or FORMS.get(self.unit, str)
        return value if isinstance(value, str) and self.show is None else form(value)


KINDS = {
    "integer": int, "number": float, "boolean": bool, "datetime": datetime, "string": str,
    "object": dict, "list": list,
}  # fmt: skip


def declared(module: str, table: str, **get: Callable[[Any], Any]) -> list[Column]:
    """Return the columns that columns.toml, in the folder of a module, declares for a table.

    `get` contains functions, by column, that read values which are not attributes of a row.
    """
    tables = tomllib.loads(Path(module).with_name("columns.toml").read_text(encoding="utf-8"))
    columns = []
    if unknown := get.keys() - tables[table].keys():
        raise ValueError(f"columns.toml lacks {unknown} in {table}")
    for name, stated in tables[table].items():
        fields = {"meaning": stated} if isinstance(stated, str) else stated
        fields["kind"] = KINDS[fields.get("kind", "string")]
        columns.append(Column(name, **fields | ({"get": get[name]} if name in get else {})))
    return columns


def hundredth(value: float | None) -> float | None:
    """Divide a number by 100 to 15 digits, so that 79.8 in print is stored as 0.798.

    >>> hundredth(79.8), 79.8 / 100
    (0.798, 0.7979999999999999)
    """
    return None if value is None else float(f"{value / 100:.15g}")


def in_files(columns: Iterable[Column]) -> list[Column]:
    return [column for column in columns if column.name]


def on_page(columns: Iterable[Column]) -> list[Column]:
    return [column for column in columns if column.heading]


def cells(columns: Iterable[Column], rows: Iterable[Any]) -> list[list[str]]:
    visible = on_page(columns)
    return [[column.text(row) for column in visible] for row in rows]
