"""Humans beside models by shots: the figure of CLUES, of one study or of several.

People with their interval of 95 %, uploaded models with the t interval over their training splits,
and what the paper printed, without intervals: it says no ddof, and of people not what ± is.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from operator import attrgetter

from analysis.heavy import pd, special
from analysis.stats.two_way import BOTH
from analysis.tables import models as model_tables
from analysis.tables.columns import SCORE, between, points
from analysis.tables.scores import Score
from annotation.models import Kind, Study
from tasks.columns import Column

MAX_SERIES = 6  # lines that can be told apart in print
OVER_SPLITS = "other splits of the task"


@dataclass(frozen=True)
class ShotRow:
    """One point of the shot curve, x 100; NaN where there is no interval."""

    task: str
    metric: str
    shots: int
    n: int
    score: float
    low: float
    high: float
    baseline: float
    no_interval: str


@dataclass(frozen=True)
class SeriesRow:
    """One point: who, at which task and shots, x 100; NaN where there is no interval.

    `study` is the name of the study whose people these are, "" for models and what is published.
    """

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


COLUMNS = [
    Column("task", "Task"),
    Column("shots", "Shots"),
    Column(
        "name",
        "Who",
        "annotators of a study, an uploaded model, or what the paper prints",
        get=attrgetter("who"),
    ),
    Column("source", "Source", "study, uploaded or published (quoted)"),
    Column("study", meaning="the study whose annotators these are"),
    Column("metric", "Metric", "of the task's card"),
    Column("score", "Mean", "mean score x 100 of the test set under that metric", SCORE, points),
    Column(
        "",
        "95 % CI",
        f"of annotators: {BOTH}; of a model: {OVER_SPLITS} (t interval); none of published figures",
        SCORE,
        between,
        lambda row: (row.low, row.high),
    ),
    Column("low_95", meaning="low end of the 95 % interval", unit=SCORE, get=attrgetter("low")),
    Column("high_95", meaning="high end of the 95 % interval", unit=SCORE, get=attrgetter("high")),
    Column("question", meaning="what low_95 and high_95 generalise to"),
    Column("n", "n", "annotators, training splits or runs behind the mean"),
    Column("unit", meaning="what n counts"),
]


def rows(study: Study, kind: str, people: Sequence[ShotRow]) -> list[SeriesRow]:
    """The points of one study; `people` are its rows of the shot curve, with their intervals."""
    who = model_tables.WHO[Kind(kind)]
    # What took a seat of the study is a row of its own; its people are drawn with their interval.
    others = [
        _of_model(row, task.name, task.card.metric, int(table.shots), score)
        for table in model_tables.tables(study, kind)
        if table.shots != model_tables.ALL
        for row in table.rows
        if not (row.source == "study" and row.name.startswith(who))
        for score, task in zip(row.scores, table.tasks, strict=True)
        if not math.isnan(score.mean)
    ]
    return of_people(study, people, who) + others


def of_people(study: Study, people: Sequence[ShotRow], name: str) -> list[SeriesRow]:
    """The annotators of a study as one series of that name."""
    return [
        SeriesRow(
            row.task, row.metric, row.shots, name, "study", study.name, row.score, row.low,
            row.high, row.n, "annotators", BOTH,
        )
        for row in people
    ]  # fmt: skip


def _of_model(row: model_tables.Row, task: str, metric: str, shots: int, score: Score) -> SeriesRow:
    is_published = row.source == "published"
    low, high = (math.nan, math.nan) if is_published else _over_splits(score)
    who = f"{row.name} (CLUES)" if is_published else row.name
    question = "" if math.isnan(low) else OVER_SPLITS
    return SeriesRow(
        task, metric, shots, who, row.source, "", score.mean, low, high, score.n, row.unit, question
    )


def _over_splits(score: Score) -> tuple[float, float]:
    """The t interval of a model's mean over its training splits, cut at 100; NaN for one of them.

    With two splits it is so wide that it says nothing, and is left out.
    """
    if score.n < 3 or math.isnan(score.sd_ddof1):
        return math.nan, math.nan
    reach = special.stdtrit(score.n - 1, 0.975) * score.sd_ddof1 / math.sqrt(score.n)
    return score.mean - reach, min(100.0, score.mean + reach)


def shown(points_of: Iterable[SeriesRow], wanted: Sequence[str] = ()) -> list[SeriesRow]:
    """The rows of the series that are drawn: those `wanted`, or the most telling MAX_SERIES.

    Annotators come first, then uploaded models, people of the paper, and its models, best first.
    """
    every = list(points_of)
    chosen = [who for who in ranked(every) if who in wanted] if wanted else ranked(every)
    kept = chosen[:MAX_SERIES]
    return sorted((row for row in every if row.who in kept), key=lambda row: kept.index(row.who))


def ranked(every: Sequence[SeriesRow]) -> list[str]:
    """Names of all series in the order in which they are chosen."""
    means: dict[tuple[int, str], list[float]] = defaultdict(list)
    for row in every:
        people = row.unit == "annotators"
        rank = {"study": 0, "uploaded": 1}.get(row.source, 2 if people else 3)
        means[rank, row.who].append(row.score)
    best = sorted(means, key=lambda key: (key[0], -math.fsum(means[key]) / len(means[key]), key[1]))
    return [who for _rank, who in best]


def frame(drawn: Sequence[SeriesRow]) -> pd.DataFrame:
    """The rows behind the figure."""
    columns = list(SeriesRow.__dataclass_fields__)
    return pd.DataFrame([asdict(row) for row in drawn], columns=columns)
