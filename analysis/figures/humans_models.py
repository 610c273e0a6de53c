"""The figure of humans and models by shots, as in CLUES, and the columns used by every figure.

Humans have a 95% interval, and uploaded models have a t interval over training splits. Published
figures have no intervals, because CLUES defines neither the ± for humans nor the ddof of its SDs.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from analysis.heavy import pd
from analysis.models import models as model_tables
from analysis.models.models_columns import splits_of
from analysis.scores.columns import (
    assuming,
    between,
    table_columns,
)
from analysis.scores.scores import Score
from analysis.stats import learning
from analysis.stats.distributions import t_quantile
from analysis.stats.two_way import BOTH
from annotation.models import Kind, Study
from annotation.study import compared_files
from tasks.cards import place
from tasks.columns import Column
from tasks.models import PredictionFileQuerySet

MAX_SERIES = 6  # how many lines can be distinguished in print
OVER_SPLITS = "other splits of the task"


@dataclass(frozen=True)
class SeriesRow:
    """A point x 100. Missing interval ends are NaN. `study` is "" except for annotators."""

    task: str
    metric: str
    shots: int
    who: str
    source: str  # study, uploaded or published
    study: str
    score: float
    low: float
    high: float
    n: int
    unit: str
    question: str


def _interval(row: SeriesRow) -> str:
    # Models have training splits rather than annotators.
    annotators = row.n if row.unit == "annotators" else math.inf
    return assuming(between((row.low, row.high)), annotators)


COLUMNS = table_columns("humans_and_models", {"over_splits": OVER_SPLITS}, interval=_interval)


def rows(study: Study, kind: str, people: Sequence[Any]) -> list[SeriesRow]:
    label = model_tables.KIND_NAMES[Kind(kind)]
    # Seated models have separate rows. Humans come from `people`, which has their intervals.
    models = [
        _model_row(row, task.name, task.card.metric, int(table.shots), score)
        for table in model_tables.tables(study, kind)
        if table.shots != model_tables.ALL
        for row in table.rows
        if not (row.source == "study" and row.name.startswith(label))
        for score, task in zip(row.scores, table.tasks, strict=True)
        if not math.isnan(score.mean)
    ]
    return people_rows(study, people, label) + models


def people_rows(study: Study, people: Sequence[Any], name: str) -> list[SeriesRow]:
    return [
        SeriesRow(
            row.task, row.metric, row.shots, name, "study", study.name, row.score, row.low,
            row.high, row.n, "annotators", BOTH,
        )
        for row in people
    ]  # fmt: skip


def _model_row(
    row: model_tables.Row, task: str, metric: str, shots: int, score: Score
) -> SeriesRow:
    is_published = row.source == "published"
    ends = (math.nan, math.nan) if is_published else _over_splits(score)
    name = f"{row.name} (CLUES)" if is_published else row.name
    question = "" if math.isnan(ends[0]) else OVER_SPLITS
    return SeriesRow(
        task, metric, shots, name, row.source, "", score.mean, *ends, score.n, row.unit, question
    )


def _over_splits(score: Score) -> tuple[float, float]:
    """Return the t interval of a mean over splits, capped at 100, or NaN for fewer than three."""
    if score.n < 3 or math.isnan(score.sd_ddof1):
        return math.nan, math.nan
    reach = t_quantile(0.975, score.n - 1) * score.sd_ddof1 / math.sqrt(score.n)
    return score.mean - reach, min(100.0, score.mean + reach)


def top_series(rows: Sequence[SeriesRow]) -> list[SeriesRow]:
    """Return the rows to draw, which are those of the first MAX_SERIES series.

    Annotators and seated models are first, then uploaded models, published humans and published
    models. Within each group, the best series come first.
    """
    names = ranked(rows)[:MAX_SERIES]
    return sorted((row for row in rows if row.who in names), key=lambda row: names.index(row.who))


def ranked(rows: Sequence[SeriesRow]) -> list[str]:
    means: dict[tuple[int, str], list[float]] = defaultdict(list)
    for row in rows:
        people = row.unit == "annotators"
        rank = {"study": 0, "uploaded": 1}.get(row.source, 2 if people else 3)
        means[rank, row.who].append(row.score)
    best = sorted(means, key=lambda key: (key[0], -math.fsum(means[key]) / len(means[key]), key[1]))
    return [name for _rank, name in best]


def sized(study: Study) -> PredictionFileQuerySet:
    return compared_files.files(study).exclude(model__parameters=None)


def by_size(study: Study) -> list[Any]:
    """Return rows for uploaded models with several splits and a stated size (CLUES, Figure 4)."""
    files = sized(study)
    rows = [row for row in model_tables.model_rows(files) if row.score.n > 1]
    sizes = dict(files.order_by().values_list("model__name", "model__parameters"))
    for row in rows:
        row.parameters = sizes[row.model]
    return sorted(rows, key=lambda row: (place(row.task.name), row.shots or 0, row.parameters))


def frame(rows: Sequence[SeriesRow]) -> pd.DataFrame:
    return pd.DataFrame(rows, columns=list(SeriesRow.__dataclass_fields__))


# Columns for the table below each figure.
FIGURE_COLUMNS: dict[str, list[Column]] = {
    "shots": table_columns("shot_curve"),
    "models": COLUMNS,
    "learning": table_columns("learning_curve", {"resamples": f"{learning.RESAMPLES:,}"}),
    "drift": table_columns("drift_curve"),
    "sizes": table_columns("model_sizes", splits=splits_of),
}
