"""Columns for tables of humans and models: scores, averages over tasks, paired differences."""

import math
from collections.abc import Iterable
from dataclasses import fields
from functools import partial
from typing import Any

from analysis.models.model_runs import Run
from analysis.scores import tested
from analysis.scores.columns import table_columns
from analysis.scores.markup import rendered
from tasks.columns import Column


def splits_of(row: Any) -> str:
    return f"{row.score.n} of {row.score.of}" if row.shots else "one run"


def _stated(name: str, row: Any) -> str | None:
    """Return a property of a run, or None if it is not stated."""
    return getattr(row.run, name) or None


_STATED: dict[str, Any] = {field.name: partial(_stated, field.name) for field in fields(Run)}
# Columns for the result of models.model_rows.
MODEL = table_columns(
    "model",
    remark=lambda row: row.score.remark or None,
    sd_ddof0_shown=lambda row: row.score.sd_ddof0 if row.score.n > 1 else math.nan,
    splits=splits_of,
    set_recipe=lambda row: row.set_recipe or None,
    **_STATED,
)
# Columns for the result of models.score_rows.
SCORES = table_columns(
    "model_scores",
    remark=lambda row: row.score.remark or None,
    **{name: get for name, get in _STATED.items() if name != "arm"},
)
# Columns for the result of models.aggregate_rows.
AGGREGATES = table_columns("model_aggregates")


# Columns for the rows of differences.differences.
DIFFERENCES = table_columns("model_differences", tested.WORDS, equivalence=tested.equivalence)


def pair_columns(pairing: Any) -> list[Column]:
    names = ("task", "shots", "model")
    same: dict[str, Any] = {name: partial(_of, pairing, name) for name in names}
    return table_columns("pairs", **same)


def _of(pairing: Any, name: str, _row: Any) -> Any:
    return getattr(pairing, name)


# Shown above and below the page's score tables, in which each task has the first of these.
SCORE_COLUMNS = table_columns("scored")


def explanations(annotators: str, rows: Iterable[Any]) -> list[tuple[str, str]]:
    """Return (source, explanation of its numbers) for each source among these rows."""
    texts = rendered("sources", {})
    shown = {source for row in rows for source in (row.source, row.aggregate and "average")}
    names = {
        "study": f"{annotators}, this study",
        "uploaded": "Uploaded models",
        "published": "Published",
        "average": "Average ± SD",
    }
    return [(name, texts[block]) for block, name in names.items() if block in shown]
