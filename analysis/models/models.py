"""Humans and models in one table, scored by the same code (CLUES, Tables 5 and 6).

A model's score for a task and shot count is its test-set score under the metric on the task's card,
averaged over training splits. The human score is the mean over annotators. Both are computed by
tasks/metrics on the same examples. If the test file is the published one, published figures are
quoted and never recomputed.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import astuple, dataclass
from functools import cached_property
from types import SimpleNamespace
from typing import Any

from analysis.models import model_runs
from analysis.models.model_runs import Place, Run, joined, mean_of, runs, splits
from analysis.scores import frames, test_sets
from analysis.scores.frames import covariances
from analysis.scores.markup import rendered
from analysis.scores.performance import PerformanceTable, families_of, performance
from analysis.scores.scores import (
    Aggregate,
    Score,
    aggregate,
    human_table4,
    machine_tables5_6,
    name_of,
    over,
)
from analysis.scores.test_sets import training_files
from annotation.models import Kind, Study
from annotation.study import compared_files
from tasks.cards import place
from tasks.columns import points, shots_text
from tasks.metrics import SetScore, recipe
from tasks.models import PredictionFileQuerySet, Task

ALL = "all"  # full supervision, in published figures
KIND_NAMES = {
    Kind.PERSON: "People",
    Kind.SIMULATED: "Simulated (not people)",
    Kind.MODEL: "Models as annotators (not people)",
}


@dataclass(frozen=True)
class Row:
    source: str  # study, uploaded or published
    name: str
    unit: str  # unit of the SD: annotators, splits, or runs without training
    scores: list[Score]
    tasks: list[Task]
    link: str = ""  # name of the uploaded model
    covariance: float = 0.0  # between the scores of annotators who did several tasks
    run: Run | None = None  # stated properties of an uploaded model

    def __str__(self) -> str:
        return f"{self.name}, {self.source_text}"

    @property
    def is_published(self) -> bool:
        return self.source == "published"

    @property
    def source_text(self) -> str:
        return "this study" if self.source == "study" else self.source

    @cached_property
    def aggregate(self) -> Aggregate | None:
        means = [score.mean for score in self.scores]
        if any(math.isnan(mean) for mean in means):
            return None
        return aggregate(means, [score.spread for score in self.scores], self.covariance)

    @property
    def sum_text(self) -> str:
        return points(None if self.aggregate is None else self.aggregate.sd_of_sum)

    @property
    def cells(self) -> list[tuple[Score, str]]:
        return [
            (score, self._explained("score", score=score, task=task))
            for score, task in zip(self.scores, self.tasks, strict=True)
        ]

    @property
    def aggregate_explanation(self) -> str:
        scored = sum(not math.isnan(score.mean) for score in self.scores)
        return self._explained("average", scored=scored, covariances=2 * self.covariance)

    def _explained(self, block: str, **values: Any) -> str:
        values |= {"row": self, "one": self.unit.removesuffix("s")}
        return rendered("cells", values, only=block)[block]


@dataclass(frozen=True)
class Table:
    shots: int | str
    tasks: list[Task]
    rows: list[Row]

    @property
    def heading(self) -> str:
        return "Fully supervised" if self.shots == ALL else shots_text(self.shots)

    @property
    def families(self) -> list[tuple[str, int]]:
        return families_of(self.tasks)

    @property
    def ranked(self) -> list[Row]:
        """Return the rows by average, best first. Rows without a score for every task come last."""
        return sorted(self.rows, key=lambda row: -row.aggregate.mean if row.aggregate else math.inf)


def tables(study: Study, kind: str) -> list[Table]:
    """Return one table per shot count, and one for "all" if there are supervised models.

    The rows are, in this order: this study's annotators of one kind, models that took a seat in it,
    published humans, uploaded models and published models.
    """
    frame = frames.annotators(study)
    people = performance(study, kind, frame)
    tasks, shared = people.tasks, covariances(study, kind, frame)
    files, supervised = compared_files.files(study), compared_files.supervised(study)
    uploaded, stated = splits(files, tasks), runs(files) | runs(supervised)
    uploaded |= splits(supervised, tasks)
    of = training_files(tasks)
    equal = splits(files.filter(pk__in=model_runs.equally_trained(study, files)), tasks)
    shots = {*people.shots, *(k for _model, _task, k in uploaded if k is not None)}
    numbers: list[int | str] = [*sorted(shots), ALL]
    tables = []
    for k in numbers:
        rows: list[Row] = []
        if k in people.shots:
            # A cell that averaged several models would not describe any of them.
            if kind != Kind.MODEL:
                rows += _annotators(people, int(k), shared.get(int(k), 0.0))
            # Models that took part as annotators.
            seated = model_runs.seated_scores(study, tasks, int(k), frame)
            rows += [Row("study", name, unit, scores, tasks) for name, unit, scores in seated]
        printed = {task: score for (task, at), score in human_table4().items() if at == k}
        rows += _published(KIND_NAMES[Kind.PERSON], "annotators", tasks, printed)
        rows += _uploaded(tasks, k, uploaded, of, stated)
        rows += _equally_trained(study, tasks, k, uploaded, equal, stated)
        by_model: dict[str, dict[str, Score]] = defaultdict(dict)
        for (model, method, task, at), score in machine_tables5_6().items():
            if at == str(k):
                by_model[f"{model} {method}"][task] = score
        for name, scores in by_model.items():
            rows += _published(name, "splits", tasks, scores)
        if rows:
            tables.append(Table(k, tasks, rows))
    return tables


def _annotators(people: PerformanceTable, shots: int, covariance: float) -> Iterator[Row]:
    """Yield the study's annotators and, if there are several splits, a row over splits."""
    name = KIND_NAMES[Kind(people.kind)]
    cells = [people.cells[task.name, shots] for task in people.tasks]
    yield Row("study", name, "annotators", [*cells], people.tasks, covariance=covariance)
    if any(cell.over_splits.n > 1 for cell in cells):
        apart = [cell.over_splits for cell in cells]
        yield Row("study", f"{name}, over training splits", "splits", apart, people.tasks)


def model_rows(files: PredictionFileQuerySet) -> list[SimpleNamespace]:
    """Return one row per model, task version and shot count (None: fully supervised).

    Witness files, which are used only for error overlap, are excluded. `as_set` is the score with
    all gold answers as one set, for tasks whose gold answers are alternatives. `set_recipe` is its
    recipe, or "" if the gold answers are one set anyway.
    """
    files = files.filter(witness=False)
    arms = files.order_by().values_list("arm", flat=True).distinct()
    rows = [row for arm in arms for row in _model_rows(files.filter(arm=arm))]
    rows.sort(key=lambda row: (math.inf if row.shots is None else row.shots, row.run.arm))
    return sorted(rows, key=lambda row: (row.model, place(row.task.name), -row.task.version))


def _model_rows(files: PredictionFileQuerySet) -> Iterator[SimpleNamespace]:
    tasks = Task.objects.filter(pk__in=files.order_by().values("task")).in_bulk()
    by_place = splits(files, tasks.values())
    of, run = training_files(tasks.values()), runs(files)
    as_set = model_runs.splits_as_one_set(files, tasks)
    for (model, pk, shots), values in by_place.items():
        card, unit = tasks[pk].card, "splits" if shots else "runs"
        yield SimpleNamespace(
            model=model,
            task=tasks[pk],
            shots=shots,
            score=mean_of(values, of[pk, shots]),
            as_set=over(as_set.get((model, pk, shots), []), of[pk, shots]),
            run=run[model, pk, shots],
            recipe=recipe(card.gold_rule, over=unit, metric=card.metric),
            set_recipe=recipe("set", over=unit) if card.gold_rule == "any_of" else "",
        )


def _uploaded(
    tasks: list[Task],
    shots: int | str,
    by_place: dict[Place, list[SetScore]],
    of: Mapping[tuple[int, int | None], int],
    stated: dict[Place, Run],
    suffix: str = "",
) -> Iterator[Row]:
    size = None if shots == ALL else int(shots)
    unit = "splits" if size else "runs"
    for model in sorted({model for model, _task, k in by_place if k == size}):
        places = [(task.pk, size) for task in tasks]
        scores = [mean_of(by_place.get((model, *place), []), of[place]) for place in places]
        statements = [stated[model, *place] for place in places if (model, *place) in stated]
        run = joined(map(astuple, statements))
        yield Row("uploaded", f"{model}{suffix}", unit, scores, tasks, link=model, run=run)


def _equally_trained(
    study: Study,
    tasks: list[Task],
    shots: int | str,
    all_splits: dict[Place, list[SetScore]],
    equal: dict[Place, list[SetScore]],
    stated: dict[Place, Run],
) -> Iterator[Row]:
    """Yield models on the splits that this study's annotators had, if they also used other splits.

    This is the equal pairing, in which both learned from the same examples. Runs whose split
    numbers may refer to other splits are excluded.
    """
    if not shots or shots == ALL:
        return
    models = {
        model
        for (model, _task, k), scores in all_splits.items()
        if k == shots and len(equal.get((model, _task, k), [])) < len(scores)
    }
    at_place = {place: scores for place, scores in equal.items() if place[0] in models}
    of: dict[tuple[int, int | None], int] = {
        (task.pk, int(shots)): len(study.splits) for task in tasks
    }
    numbers = ", ".join(map(str, study.splits))
    suffix = f", split{'s' if len(study.splits) > 1 else ''} {numbers} as people"
    yield from _uploaded(tasks, shots, at_place, of, stated, suffix)


def _published(name: str, unit: str, tasks: list[Task], quoted: dict[str, Score]) -> Iterator[Row]:
    """Yield a row of published figures if any of these tasks uses the published test file."""
    # Published figures are S1, so they can only be compared with S1.
    names = [name_of(task) if task.card.metric == test_sets.S1 else "" for task in tasks]
    if any(task_name in quoted for task_name in names):
        scores = [quoted.get(task_name, Score()) for task_name in names]
        yield Row("published", name, unit, scores, tasks)


def by_method(tables: Sequence[Table]) -> list[SimpleNamespace]:
    """Return the layout of CLUES, Tables 5 and 6: humans first, then models by method.

    `texts` maps (task, shots) to the score as text.
    """
    rows: dict[str, SimpleNamespace] = {}
    for table in tables:
        for row in table.rows:
            method = f" {row.run.method}" if row.run and row.run.method else ""
            name = f"{row.name}{method}, {row.source_text}"
            new = SimpleNamespace(name=name, is_human=row.unit == "annotators", texts={})
            texts = rows.setdefault(name, new).texts
            for score, task in zip(row.scores, table.tasks, strict=True):
                texts[task.name, table.shots] = score.text
    return sorted(rows.values(), key=lambda row: not row.is_human)


def score_rows(tables: Sequence[Table]) -> Iterator[SimpleNamespace]:
    """Yield each score of a Row. Published figures have neither a task version nor a recipe."""
    for table in tables:
        for row in table.rows:
            for score, task in zip(row.scores, table.tasks, strict=True):
                if not score.remark and math.isnan(score.mean):
                    continue
                recipe_text = recipe(task.card.gold_rule, over=row.unit, metric=task.card.metric)
                yield SimpleNamespace(
                    row=row,
                    run=row.run or Run(),
                    task=task,
                    task_version=None if row.is_published else task.version,
                    shots=table.shots,
                    score=score,
                    recipe="" if row.is_published else recipe_text,
                )


def aggregate_rows(tables: Sequence[Table]) -> list[SimpleNamespace]:
    return [
        SimpleNamespace(row=row, shots=table.shots)
        for table in tables
        for row in table.rows
        if row.aggregate is not None
    ]
