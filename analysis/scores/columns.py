"""Tables as CSV and JSON, and the formatting of their cells.

A table consists of typed rows and columns. The page, the CSV, the API and the documents all use the
same columns, so a number has the same name, meaning and format everywhere.
"""

import json
import math
import tomllib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal
from functools import partial
from operator import attrgetter
from pathlib import Path
from typing import Any

from analysis.scores.markup import ASSUMES as ASSUMES
from analysis.scores.markup import FEW, NORMAL, rendered
from analysis.stats.two_way import BOTH, PEOPLE, RUNS
from analysis.stats.uncertainty import FEWEST_FOR_BOOTSTRAP, Estimate
from annotation.models import Study
from tasks.columns import KINDS, NOTHING, Column, cells, in_files, on_page, points, two_digits
from tasks.csv_files import csv_text, moment
from tasks.models import Task

# A function that returns a table's rows for one kind of annotators.
TableRows = Callable[[Study, str], Iterable[Any]]
SCORE = "score x 100"  # unit of scores under the metric on the task's card


@dataclass(frozen=True)
class Table:
    """A table for one kind of annotators, identical on the page, in the CSV, the API and documents.

    `needs` returns the part of the design that the table depends on; without it, there are no rows.
    """

    name: str
    title: str
    columns: Sequence[Column]
    make: TableRows
    words: Mapping[str, object] = field(default_factory=dict)
    needs: Callable[[Study], object] = lambda study: True

    def rows(self, study: Study, kind: str) -> list[Any]:
        return list(self.make(study, kind)) if self.needs(study) else []

    @property
    def intro(self) -> str:
        return rendered("tables", self.words, only=self.name).get(self.name, "")

    def page(self, study: Study, kind: str, rows: Sequence[Any] | None = None) -> dict[str, Any]:
        """Return the template context. `cells` is empty if there are no rows.

        Pass `rows` if this study's rows for this kind have already been computed.
        """
        rows = self.rows(study, kind) if rows is None else rows
        if self.columns[0].name == "task":
            rows = in_results_order(study.tasks.all(), rows)
        return {
            "rows": rows,
            "name": self.name,
            "title": self.title,
            "intro": self.intro,
            "columns": on_page(self.columns),
            "cells": cells(self.columns, rows),
        }


def in_results_order(tasks: Iterable[Task], rows: Sequence[Any]) -> list[Any]:
    """Sort rows for a page by task, within `who` if they have it. Files keep the rows' order."""
    places = {task.name: task.place for task in tasks}
    whose = list(dict.fromkeys(getattr(row, "who", "") for row in rows))
    return sorted(rows, key=lambda r: (whose.index(getattr(r, "who", "")), places[r.task]))


def as_csv(columns: Iterable[Column], rows: Iterable[Any], kind: str = "") -> str:
    """Return the rows as CSV with unrounded numbers. If given, `kind` fills the first column."""
    fields = in_files(columns)
    head = [kind] if kind else []
    header = [*(["kind"] if kind else []), *(column.name for column in fields)]
    return csv_text(header, ([*head, *(cell(c.stored(row)) for c in fields)] for row in rows))


def as_records(columns: Iterable[Column], rows: Iterable[Any]) -> list[dict[str, Any]]:
    """Return the rows for JSON, with numbers as numbers and missing values as null."""
    fields = in_files(columns)
    return [{name: plain(value) for name, value in file_row(fields, row).items()} for row in rows]


def file_row(columns: Iterable[Column], row: Any) -> dict[str, Any]:
    return {column.name: column.stored(row) for column in in_files(columns)}


def plain(value: Any) -> Any:
    """Convert a value to JSON, which has neither NaN nor infinity."""
    if isinstance(value, tuple):
        return [plain(part) for part in value]
    if hasattr(value, "item"):  # a numpy scalar
        value = value.item()
    return None if isinstance(value, float) and not math.isfinite(value) else value


# Formatting of cells ------------------------------------------------------------------------------


def signed_points(value: float) -> str:
    """Format a difference in points.

    >>> signed_points(2), signed_points(-1e-15)
    ('+2.0', '+0.0')
    """
    return f"{value if abs(value) > 1e-9 else 0:+.1f}" if math.isfinite(value) else NOTHING


def between(ends: Sequence[Any], form: Callable[[float], str] = points) -> str:
    """Format an interval from its endpoints. A third item gives the reason for a missing interval.

    >>> between((70.04, 80)), between((math.nan, math.nan, "one annotator"))
    ('70.0 to 80.0', '– (one annotator)')
    """
    low, high, *reasons = ends
    if math.isnan(low):
        return " ".join([NOTHING, *(f"({reason})" for reason in reasons if reason)])
    return f"{form(low)} to {form(high)}"


def assuming(interval: str, annotators: float) -> str:
    """Mark an interval as relying on an assumption that so few annotators cannot test.

    >>> assuming("70.0 to 80.0", 9), assuming("70.0 to 80.0", 10), assuming("– (annotators tie)", 3)
    ('70.0 to 80.0 †', '70.0 to 80.0', '– (annotators tie)')
    """
    is_few = annotators < FEWEST_FOR_BOOTSTRAP and not interval.startswith(NOTHING)
    return f"{interval} {FEW}" if is_few else interval


def assumption(annotators: Iterable[int]) -> str:
    """Return the sentence for the caption if any of these counts requires it, otherwise ""."""
    text = f" Intervals of fewer than {FEWEST_FOR_BOOTSTRAP} annotators assume {NORMAL}."
    return text if any(1 < n < FEWEST_FOR_BOOTSTRAP for n in annotators) else ""


def signed_between(ends: Sequence[Any]) -> str:
    """Format an interval for a difference. A third item gives the reason for a missing interval.

    >>> signed_between((-0.2, 8.24)), signed_between((math.nan, math.nan, "annotators tie"))
    ('-0.2 to +8.2', '– (annotators tie)')
    """
    return between(ends, signed_points)


def between_few(values: Sequence[Any]) -> str:
    """Format (low, high, reason, size of a group or of each), marked by `assuming`."""
    return assuming(between(values[:3]), min(values[3:]))


def signed_between_few(values: Sequence[Any]) -> str:
    """Format an interval for a difference as `between_few` does."""
    return assuming(signed_between(values[:3]), min(values[3:]))


def mean_and_sd(mean: float, sd: float) -> str:
    """Format a mean and SD as in papers, or return a single dash if the mean is undefined.

    >>> mean_and_sd(83.651, math.nan), mean_and_sd(math.nan, math.nan)
    ('83.7 ± –', '–')
    """
    return NOTHING if math.isnan(mean) else f"{points(mean)} ± {points(sd)}"


def with_remark(text: str, remark: str) -> str:
    """Append a remark to a score, or return only the remark if the score is missing.

    >>> with_remark("57.7 ± 1.0", ""), with_remark("–", "undefined: constant prediction (1 of 3)")
    ('57.7 ± 1.0', 'undefined: constant prediction (1 of 3)')
    """
    if not remark:
        return text
    return remark if text == NOTHING else f"{text}; {remark}"


def count(value: int | None) -> str:
    """Format a number with thousands separators, or return a dash if it is unknown.

    >>> count(1234), count(None)
    ('1,234', '–')
    """
    return NOTHING if value is None else f"{value:,}"


def share(part: int, total: int) -> str:
    """Format a proportion of answers or annotators as a percentage.

    >>> share(1, 3), share(0, 0)
    ('33 %', '–')
    """
    return f"{100 * part / total:.0f} %" if total else NOTHING


def percent(ratio: float | None) -> str:
    return NOTHING if ratio is None or math.isnan(ratio) else f"{ratio:.0%}"


def _share_with_interval(share: float, *ends: float) -> str:
    return f"{points(share)} % ({between(ends)})" if math.isfinite(share) else NOTHING


def shortest(value: float | None) -> str:
    return NOTHING if value is None else f"{value:g}"


def signed_percent(value: float) -> str:
    return f"{value:+.1f} %" if math.isfinite(value) else NOTHING


# Values in CSV files are formatted so that they can be read back without loss.


def json_list(texts: Iterable[object]) -> str:
    return json.dumps(list(texts), ensure_ascii=False, separators=(",", ":"))


def number(value: float) -> str:
    """Format a float so that it parses to the same number. NaN is formatted as ""."""
    return "" if math.isnan(value) else repr(float(value))


def cell(value: Any) -> Any:
    match value:
        case None:
            return ""
        case float() | Decimal():
            return number(float(value))
        case bool():
            return int(value)
        case list():
            return json_list(value)
        case datetime():
            return moment(value)
    return value


class Noted(str):
    """A cell's text, with a `reason` that many cells share and pages give once, after `plain`."""

    plain: str
    reason: str


def _estimate(form: Callable[[float], str], values: Estimate) -> str:
    """Format an Estimate. The reason for a missing interval may be shared by many cells."""
    value, *ends, why_not = values
    if math.isnan(value):
        return NOTHING
    if not why_not:
        return f"{form(value)} ({between(ends, form)})"
    cell = Noted(f"{form(value)} (no interval: {why_not})")
    cell.plain, cell.reason = form(value), why_not
    return cell if why_not == FEW_ANNOTATORS else str(cell)


FEW_ANNOTATORS = f"fewer than {FEWEST_FOR_BOOTSTRAP} annotators"

# Maps the names of all columns that are not text to integer, number or datetime.
TYPES = {
    name: kind
    for kind, names in tomllib.loads(
        Path(__file__).with_name("types.toml").read_text("utf-8")
    ).items()
    for name in names
}
# Maps the name of a table to its columns.
DECLARED: dict[str, dict[str, Any]] = tomllib.loads(
    Path(__file__).with_name("columns.toml").read_text("utf-8")
)
NAMED: tuple[Callable[[Any], str], ...] = (
    between, between_few, count, percent, points, shortest, signed_between, signed_between_few,
    signed_percent, signed_points, two_digits,
)  # fmt: skip
# Functions that columns.toml names as `show`.
SHOWN: dict[str, Callable[[Any], str]] = {
    **{form.__name__: form for form in NAMED},
    "all_if_none": lambda shots: "All" if shots is None else str(shots),
    "dash_if_none": lambda value: NOTHING if value is None else str(value),
    "dash_if_empty": lambda value: value or NOTHING,
    "unstated_if_empty": lambda value: value or "not stated",
    "date": lambda at: f"{at:%Y-%m-%d}",
    "estimate": partial(_estimate, points),
    "estimate_0_to_1": partial(_estimate, "{:.3f}".format),
    "signed_estimate": partial(_estimate, signed_points),
    "four_digits": lambda value: f"{value:.4f}" if math.isfinite(value) else NOTHING,
    "from_to": lambda values: " → ".join(map(str, values)),
    "listed": lambda values: ", ".join(map(str, values)) or NOTHING,
    "mean_and_n": lambda values: f"{points(values[0])} (n={values[1]})",
    "mean_sd_and_n": lambda values: f"{mean_and_sd(*values[:2])} (n = {values[2]})",
    "part_of_all": lambda v: f"{v[0]} of {v[1]} ({percent(v[2])})",
    "share_with_interval": lambda values: _share_with_interval(*(100 * v for v in values)),
    "shortest_to": lambda ends: NOTHING if ends[0] is None else " to ".join(map(shortest, ends)),
    "signed_with_interval": lambda v: f"{signed_points(v[0])} ({signed_between(v[1:])})",
    "tenths_of_percent": lambda v: f"{100 * v:.1f} %" if math.isfinite(v) else NOTHING,
    "texts": lambda texts: ", ".join(texts) if texts else "no answer",
    "two_digits_between": lambda ends: between(ends, two_digits),
}
# Words that any column's heading or meaning may contain.
WORDS: dict[str, object] = {
    "to_both": BOTH, "to_people": PEOPLE, "to_runs": RUNS, "assumes": ASSUMES,
    "few_assume": ASSUMES.removeprefix(f"{FEW} "), "fewest_for_bootstrap": FEWEST_FOR_BOOTSTRAP,
}  # fmt: skip


def table_columns(
    table: str, words: Mapping[str, object] | None = None, **get: Callable[[Any], Any]
) -> list[Column]:
    """Return the columns that columns.toml declares for a table.

    `words` are inserted in its texts, in addition to WORDS. `get` contains functions, by column,
    that read values which are not attributes of a row.
    """
    columns, stated = [], _declared(table, {**WORDS, **(words or {})})
    if unknown := get.keys() - stated.keys():
        raise ValueError(f"columns.toml lacks {unknown} in {table}")
    for key, declared in stated.items():
        values = {"name": key} | declared
        values["kind"] = KINDS[values.get("kind", type_of(key))]
        if "show" in values:
            values["show"] = SHOWN[values["show"]]
        if key in get:
            values["get"] = get[key]
        elif isinstance(attributes := values.get("get"), list):
            values["get"] = attrgetter(*attributes)
        elif "value" in values:
            values["get"] = partial(lambda value, _row: value, values.pop("value"))
        columns.append(Column(**values))
    return columns


def _declared(table: str, words: Mapping[str, object]) -> dict[str, dict[str, Any]]:
    """Return the fields of a table's columns by key, with `words` and its groups inserted."""
    columns: dict[str, dict[str, Any]] = {}
    for key, stated in DECLARED[table].items():
        fields = {"meaning": stated} if isinstance(stated, str) else stated
        filled: dict[str, Any] = {
            name: value.format_map(words)
            if isinstance(value, str)
            else [part.format_map(words) for part in value]
            for name, value in fields.items()
        }
        if "group" in filled:
            group = _declared(filled["group"], {**words, **filled})
            new = {name: group[name] for name in filled.get("only", group)}
        else:
            new = {key.format_map(words): filled}
        if twice := columns.keys() & new.keys():
            raise ValueError(f"columns.toml declares {twice} twice in {table}")
        columns |= new
    return columns


def type_of(column: str, file: str = "") -> str:
    """Return integer, number, datetime or string. Only in flow.csv is `refused` a count."""
    if column == "refused" and file != "flow.csv":
        return "string"
    return TYPES.get(column, "string")
