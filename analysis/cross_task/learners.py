"""The gains of annotators and models side by side, as in CrossFit, section 5 and Figures 4 and 5.

A learner is the study's annotators, an uploaded model with arms, or a model in an annotator's seat.
A model's gain is computed in the same way as the annotators', but from the mean over its runs. Only
annotators have intervals, because repeated runs of one model say nothing about other models.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter, defaultdict
from collections.abc import Iterator
from operator import attrgetter
from types import SimpleNamespace
from typing import Any

from analysis.cross_task import cross_task
from analysis.cross_task.cross_task import ALL, Scores, gain_columns
from analysis.models.models import KIND_NAMES
from analysis.scores import frames, test_sets
from analysis.scores.columns import Table
from analysis.stats import arg
from annotation.models import Kind, Study
from annotation.study import compared_files
from annotation.study.cross_task import training


def model_gains(study: Study, _kind: str = "") -> list[SimpleNamespace]:
    """Return each model's gains, with the model's name as the `kind` of its rows."""
    if not study.is_cross_task:
        return []
    models = dict(sorted([*_uploaded(study), *_seated(study)]))
    return [row for item in models.items() for row in cross_task.gains_of(study, *item)]


def _uploaded(study: Study) -> Iterator[tuple[str, Scores]]:
    """Yield uploaded models with their scores on the training splits that all their arms share."""
    files = compared_files.arm_files(study).filter(shots__in=study.shots)
    under = test_sets.file_scores(files, study.tasks.all())
    runs: dict[str, dict[tuple[int, str], dict[str, dict[int | None, float]]]] = defaultdict(
        lambda: defaultdict(lambda: defaultdict(dict))
    )
    for file in files.with_scores().select_related("model", "task"):
        score = under[file.pk][1].value if file.pk in under else file.mean_s1  # type: ignore[attr-defined]  # annotated
        place = file.shots or 0, file.task.name
        runs[file.model.name][place][file.arm][file.split_number] = score
    for model, places in runs.items():
        by_shots: Scores = {}
        for (shots, task), arms in sorted(places.items()):
            splits = set.intersection(*map(set, arms.values()))
            by_shots.setdefault(shots, {})[task] = {
                arm: [score for split, score in by_split.items() if split in splits]
                for arm, by_split in arms.items() if splits
            }  # fmt: skip
        yield model, by_shots


def _seated(study: Study) -> Iterator[tuple[str, Scores]]:
    models = frames.seats(study)
    seats = study.participations.filter(kind=Kind.MODEL).values_list("pk", flat=True)
    for model in set(models.values()):
        other_seats = [pk for pk in seats if models.get(pk) != model]
        yield model.title, cross_task.scores(study, Kind.MODEL, other_seats)


def _changed(row: SimpleNamespace, **values: Any) -> SimpleNamespace:
    return SimpleNamespace(**vars(row) | values)


def learners(study: Study, kind: str) -> Iterator[SimpleNamespace]:
    """Yield annotators of one kind, then models, by contrast. Models are never pooled.

    A row is a gain across `tasks`, and its `kind` is the learner's name. `relative` has the gains
    by task.
    """
    people = [] if kind == Kind.MODEL else cross_task.gains(study, kind)
    rows = [_changed(row, kind=KIND_NAMES[Kind(kind)]) for row in people]
    of_models = model_gains(study)
    rows += [_changed(row, low=math.nan, high=math.nan, no_interval="") for row in of_models]
    for key, group in itertools.groupby(rows, attrgetter("kind", "new_arm", "base_arm", "shots")):
        gain, *by_task = group  # without `by_task`, it is the gain on the only task
        tasks = tuple(by_task) or (gain,)
        relative = {row.task: row.gain for row in tasks if math.isfinite(row.gain)}
        bands = arg.bands([value / 100 for value in relative.values()])
        yield _changed(gain, tasks=tasks, contrast=key[1:], relative=relative, **bands)


def correlations(study: Study, kind: str) -> Iterator[SimpleNamespace]:
    """Yield one row per model and contrast that shares at least three tasks with annotators.

    `shared` is the rank correlation between the model's gains and the annotators' on these tasks.
    """
    all_learners = list(learners(study, kind))
    people = {
        learner.contrast: learner for learner in all_learners if learner.kind in KIND_NAMES.values()
    }
    for learner in all_learners:
        base = people.get(learner.contrast, learner)
        both = sorted({*learner.relative} & {*base.relative})
        if base is not learner and len(both) > 2:
            pairs = ([gains[task] for task in both] for gains in (base.relative, learner.relative))
            yield _changed(learner, people=base.kind, shared=arg.spearman(*pairs))


def categories(study: Study, kind: str) -> Iterator[SimpleNamespace]:
    """Yield mean gains by ontology category. Tasks without a category are excluded.

    `seen` is the number of upstream tasks in the category.
    """
    of = {task.name: task.card.ontology or "" for task in study.tasks.all()}
    upstream = {task.name: task.card.ontology for task in study.upstream_tasks.all()}
    trained = training(study)
    for learner in learners(study, kind):
        seen = Counter(map(upstream.get, trained[learner.new_arm][0] if study.arms else upstream))
        for name in sorted({of[row.task] for row in learner.tasks} - {""}):
            tasks = tuple(row for row in learner.tasks if of[row.task] == name)
            mean = math.fsum(row.gain for row in tasks) / len(tasks)
            yield _changed(learner, task=name, tasks=tasks, gain=mean, seen=seen[name])


def bars(study: Study, kind: str) -> list[SimpleNamespace]:
    rows = [row for row in learners(study, kind) if row.meaning == cross_task.BOTH]
    return [gain for row in rows for gain in (*row.tasks, *([row] if row.task == ALL else []))]


BARS = gain_columns("bars")
MODEL_GAINS = gain_columns("model_gains")
TABLES = [
    Table(
        "learners",
        "ARG of annotators and models",
        gain_columns("learners", tasks=lambda row: len(row.tasks)),
        learners,
    ),
    Table("model-gains", "Gains of models", MODEL_GAINS, model_gains),
    Table("correlations", "Correlation of gains", gain_columns("correlations"), correlations),
    Table(
        "categories",
        "Gains by category",
        gain_columns("categories", tasks=lambda row: len(row.tasks)),
        categories,
    ),
]
