"""Tables as CSV and JSON, and the formats of a cell.

A table is a sequence of typed rows and a sequence of columns. The page, the CSV, the API and the
documents all read the same columns, so a number has one name, one meaning and one format.
"""

import json
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from analysis.stats.uncertainty import FEWEST_FOR_BOOTSTRAP
from annotation.models import Study
from tasks.columns import NOTHING, Column, cells, in_files, on_page, points
from tasks.csv_files import csv_text

SCORE = "score x 100"  # the unit of scores under the metric of a task's card
FEW = "†"  # after an interval of fewer than ten annotators
ASSUMES = (
    f"{FEW} fewer than {FEWEST_FOR_BOOTSTRAP} annotators: assumes that the annotators' scores"
    " are roughly normal"
)


@dataclass(frozen=True)
class Table:
    """A table that page, CSV, API and documents show unchanged; its rows are for one kind."""

    name: str
    title: str
    intro: str
    columns: Sequence[Column]
    rows: Callable[[Study, str], Sequence[Any]]

    def page(self, study: Study, kind: str) -> dict[str, Any]:
        """The context of the page's template; `cells` is empty without rows."""
        return {
            "name": self.name,
            "title": self.title,
            "intro": self.intro,
            "columns": on_page(self.columns),
            "cells": cells(self.columns, self.rows(study, kind)),
        }


def as_csv(columns: Iterable[Column], rows: Iterable[Any], kind: str = "") -> str:
    """The rows with all digits and missing values as empty cells; `kind` fills a first column."""
    written = in_files(columns)
    before = [kind] if kind else []
    header = [*(["kind"] if kind else []), *(column.name for column in written)]
    return csv_text(header, ([*before, *(cell(c.stored(row)) for c in written)] for row in rows))


def as_records(columns: Iterable[Column], rows: Iterable[Any]) -> list[dict[str, Any]]:
    """The same rows for JSON: numbers as numbers, missing values as null."""
    written = in_files(columns)
    return [{name: plain(value) for name, value in in_file(written, row).items()} for row in rows]


def in_file(columns: Iterable[Column], row: Any) -> dict[str, Any]:
    """The row of a file: column name -> value."""
    return {column.name: column.stored(row) for column in in_files(columns)}


def plain(value: Any) -> Any:
    """A value for JSON, without NaN and types of numpy."""
    if hasattr(value, "item"):  # a numpy scalar
        value = value.item()
    return None if isinstance(value, float) and math.isnan(value) else value


# Formats of a cell --------------------------------------------------------------------------------


def signed_points(value: float) -> str:
    """A difference in points.

    >>> signed_points(2)
    '+2.0'
    """
    return f"{value:+.1f}" if math.isfinite(value) else NOTHING


def between(ends: Sequence[Any]) -> str:
    """Low and high end of an interval in points; a third item says why there is none.

    >>> between((70.04, 80)), between((math.nan, math.nan, "one annotator"))
    ('70.0 to 80.0', '– (one annotator)')
    """
    low, high, *reasons = ends
    if math.isnan(low):
        return " ".join([NOTHING, *(f"({reason})" for reason in reasons if reason)])
    return f"{points(low)} to {points(high)}"


def assuming(interval: str, annotators: int) -> str:
    """An interval, marked with its assumption if it has too few annotators to test it.

    >>> assuming("70.0 to 80.0", 9), assuming("70.0 to 80.0", 10), assuming("– (annotators tie)", 3)
    ('70.0 to 80.0 †', '70.0 to 80.0', '– (annotators tie)')
    """
    is_few = annotators < FEWEST_FOR_BOOTSTRAP and not interval.startswith(NOTHING)
    return f"{interval} {FEW}" if is_few else interval


def signed_between(ends: Sequence[Any]) -> str:
    """Low and high end of an interval of a difference; a third item says why there is none.

    >>> signed_between((-0.2, 8.24)), signed_between((math.nan, math.nan, "annotators tie"))
    ('-0.2 to +8.2', '– (annotators tie)')
    """
    low, high, *reasons = ends
    if math.isnan(low):
        return " ".join([NOTHING, *(f"({reason})" for reason in reasons if reason)])
    return f"{signed_points(low)} to {signed_points(high)}"


def mean_and_sd(mean: float, sd: float) -> str:
    """Mean and SD as papers print them; one dash if the mean is undefined.

    >>> mean_and_sd(83.651, math.nan), mean_and_sd(math.nan, math.nan)
    ('83.7 ± –', '–')
    """
    return NOTHING if math.isnan(mean) else f"{points(mean)} ± {points(sd)}"


def with_remark(text: str, remark: str) -> str:
    """A score with its remark, or the remark alone without a score.

    >>> with_remark("57.7 ± 1.0", ""), with_remark("–", "undefined: constant prediction (1 of 3)")
    ('57.7 ± 1.0', 'undefined: constant prediction (1 of 3)')
    """
    if not remark:
        return text
    return remark if text == NOTHING else f"{text}; {remark}"


def count(value: int | None) -> str:
    """A number with separators; a dash if it is unknown.

    >>> count(1234), count(None)
    ('1,234', '–')
    """
    return NOTHING if value is None else f"{value:,}"


def share(part: int, whole: int) -> str:
    """A part of some answers or people in percent.

    >>> share(1, 3), share(0, 0)
    ('33 %', '–')
    """
    return f"{100 * part / whole:.0f} %" if whole else NOTHING


def percent(ratio: float) -> str:
    """A ratio of 0 to 1 in percent."""
    return NOTHING if math.isnan(ratio) else f"{ratio:.0%}"


# Formats of values in the CSVs: texts that read back as the same value.


def json_list(texts: Iterable[object]) -> str:
    return json.dumps(list(texts), ensure_ascii=False, separators=(",", ":"))


def number(value: float) -> str:
    """A float that reads back as the same number; "" for NaN."""
    return "" if math.isnan(value) else repr(float(value))


def cell(value: Any) -> Any:
    """Any value of a table for a CSV: floats with all digits, "" for missing values."""
    if value is None:
        return ""
    return number(value) if isinstance(value, float) else value
