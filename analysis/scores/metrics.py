"""Scores under the metric on a task's card, and under any further metrics declared in the design.

There is one row per task, shot count, metric and group, where a group is either one kind of
annotators or an uploaded model. The interval for annotators is the two-way t interval
(stats/two_way.py) over the parts of each score. If the score is a mean over examples, its parts are
the examples. Otherwise, they are delete-one-context pseudo-values from the jackknife.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Sequence
from types import SimpleNamespace
from typing import Any

from analysis.heavy import np
from analysis.scores import columns, test_sets
from analysis.scores.findings import parameters, remembered
from analysis.scores.scores import Score, over
from analysis.scores.test_sets import training_files
from analysis.stats import two_way
from annotation.models import Kind, Study
from annotation.study import compared_files
from tasks.cards import place
from tasks.columns import NOTHING, grouped
from tasks.metrics import METRICS, over_test_set, recipe
from tasks.models import Task

CARD, FURTHER = "card", "further"
MODEL = "uploaded"  # used instead of a kind of annotators


def own_scores(study: Study, tasks: Sequence[Task] = ()) -> Iterator[SimpleNamespace]:
    """Yield the score of each annotator and file under each metric, by default for all tasks.

    `who` is a kind of annotator or MODEL, and `name` a pseudonym or the name of a model.
    """
    for task in sorted(tasks or study.tasks.all(), key=lambda task: place(task.name)):
        file = test_sets.TestFile(task)
        counted = study.participations.analysed().in_cells().filter(scenario__task=task)
        people = counted.order_by("kind", "scenario__shots", "pseudonym").values_list(
            "pk", "kind", "pseudonym", "scenario__shots", "scenario__split_number"
        )
        files = list(compared_files.files(study).filter(task=task).select_related("model"))
        models = [(f.pk, MODEL, f.model.name, f.shots or 0, f.split_number) for f in files]
        of_people = test_sets.answers_of_people(file, [pk for pk, *_of in people])
        of_models = test_sets.answers_of_models(file, files)
        for units, answers in ((people, of_people), (models, of_models)):
            for metric in test_sets.metrics_of(study, task):
                for pk, who, name, shots, split in units:
                    score = over_test_set(metric, answers[pk], is_linear=units is people)
                    yield SimpleNamespace(
                        who=who, name=name, task=task, shots=shots, split=split, metric=metric,
                        score=score,
                    )  # fmt: skip


def rows(study: Study) -> list[SimpleNamespace]:
    """Return rows in the paper's order, cached until the annotators or prediction files change.

    `who` is a kind of annotator or MODEL, and `name` is a model's name. The mean and SDs (x 100)
    are over `score.n` of `score.of` units. Only annotators get an interval: runs are not a sample.
    """
    tasks, files = study.tasks.order_by("pk"), compared_files.files(study).order_by("pk")
    keys = [list(rows.values_list("pk", flat=True)) for rows in (tasks, files)]
    key = ["metrics", study.metrics, *keys, *(parameters(study, kind) for kind in Kind.values)]
    return remembered(key, lambda: list(rows_of(study)))


def rows_of(study: Study, tasks: Sequence[Task] = ()) -> Iterator[SimpleNamespace]:
    """Yield what `rows` returns, by default for all tasks."""
    scores = list(own_scores(study, tasks))
    groups = grouped(
        ((s.who, s.name if s.who == MODEL else "", s.task.pk, s.shots, s.metric), s) for s in scores
    )
    of = training_files({s.task for s in scores})
    contexts: dict[int, list[str]] = {}
    for (who, name, task, shots, metric), group in groups.items():
        of_people = study.annotators * (len(study.splits) if shots else 1)
        size = of[task, shots] if who == MODEL else of_people
        score = over([s.score.value for s in group], size, [s.score.remark for s in group])
        own_task = group[0].task
        is_of_card = metric == own_task.card.metric
        unit = "annotators" if who != MODEL else "splits" if shots else "runs"
        if who != MODEL and task not in contexts:
            file = test_sets.TestFile(own_task)
            contexts[task] = [context for _pk, _gold, context in file.rows]
        yield SimpleNamespace(
            who=who, name=name, task=own_task, shots=shots, metric=metric, score=score,
            role=CARD if is_of_card else FURTHER,
            recipe=recipe(own_task.card.gold_rule, over=unit, metric=metric),
            **(NO_INTERVAL if who == MODEL else _interval(metric, group, contexts[task])),
        )  # fmt: skip


NO_INTERVAL = dict.fromkeys(("low", "high", "se", "df"), math.nan) | {
    "no_interval": "", "interval": NOTHING,
}  # fmt: skip


def _interval(metric: str, group: Collection[Any], contexts: Sequence[str]) -> dict[str, Any]:
    matrix = np.array([item.score.values for item in group])
    estimate = two_way.mean_estimate(matrix, contexts)
    reason = next((item.score.why_no_values for item in group if item.score.why_no_values), "")
    low, high = 100 * np.clip(estimate.interval(), METRICS[metric].lowest, 1)
    why_not = estimate.why_not and (reason or estimate.why_not)
    return {
        "low": float(low), "high": float(high), "se": 100 * estimate.se, "df": estimate.df,
        "no_interval": why_not,
        "interval": columns.assuming(columns.between((low, high, why_not)), len(group)),
    }  # fmt: skip


def further(study: Study, kind: str) -> dict[tuple[str, int], list[tuple[str, Score]]]:
    """Map (task, shots) to (metric, score) for each further metric, for one kind of annotators."""
    shown = [row for row in rows(study) if row.who == kind] if study.metrics else []
    return grouped(
        ((row.task.name, row.shots), (row.metric, row.score))
        for row in shown
        if row.role == FURTHER
    )


def is_s1_alone(study: Study) -> bool:
    is_s1 = all(task.card.metric == test_sets.S1 for task in study.tasks.all())
    return is_s1 and not study.metrics


def page_rows(study: Study, kind: str) -> list[SimpleNamespace]:
    """Return the rows of one kind and of the models by task, or [] if S1 is the only metric."""
    if is_s1_alone(study):
        return []
    table_rows = [row for row in rows(study) if row.who in (kind, MODEL)]
    return sorted(table_rows, key=lambda row: (row.task.place, row.shots))


# Columns for the result of `rows`.
COLUMNS = columns.table_columns("metrics", remark=lambda row: row.score.remark or None)
# Columns for the rows of `own_scores`.
OWN_COLUMNS = columns.table_columns("metric_values", remark=lambda row: row.score.remark or None)
NOTE = (
    "Each task has the metric on its card and those of the design's further metrics that apply to"
    " its answer type. All rows for a task score the same answers."
)
