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
from analysis.scores.columns import Table, between, count
from analysis.stats import arg
from annotation.models import Kind, Study
from annotation.study import compared_files
from annotation.study.cross_task import training
from tasks.columns import NOTHING, Column, points, two_digits


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


WILSON = "Wilson's 95 % interval over tasks"
MODEL_GAINS = [
    Column("model", "Model", "uploaded model, or one in an annotator's seat", get="kind"),
    *gain_columns("task", "metric", "shots", "new_arm", "base_arm", "meaning"),
    Column("new_runs", "n", "runs in the arm: training splits, or seats", "", count, "new_people"),
    Column("base_runs", "n against", "runs in the base arm", "", count, "base_people"),
    *gain_columns("new", "base", "gain", "difference", "refused"),
]


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
        yield _changed(gain, tasks=tasks, contrast=key[1:], relative=relative, bands=bands)


def _share(values: tuple[float, float, float]) -> str:
    share, *interval = (100 * value for value in values)
    return f"{points(share)} % ({between(interval)})" if math.isfinite(share) else NOTHING


def _band(name: str, heading: str) -> list[Column]:
    """Return the columns for a proportion of tasks: one for the page, three for files."""
    meaning = f"share of the tasks with a relative gain {heading.lower()}, with {WILSON}"
    return [
        Column("", heading, meaning, "", _share, lambda row: row.bands[name]),
        Column(name, "", meaning, get=lambda row: row.bands[name][0]),
        Column(f"{name}_low_95", "", "lower end", get=lambda row: row.bands[name][1]),
        Column(f"{name}_high_95", "", "upper end", get=lambda row: row.bands[name][2]),
    ]


_LEARNER = [Column("learner", "Learner", "annotators, or a model", get="kind")]
_CONTRAST = [*_LEARNER, *gain_columns("shots", "new_arm", "base_arm")]
_TASKS = Column("tasks", "Tasks", "unseen tasks", "", count, lambda row: len(row.tasks))
LEARNERS = [
    *_CONTRAST,
    _TASKS,
    *gain_columns("gain", "95 %", "low_95", "high_95", "difference"),
    *_band("above", "Above +5 %"),
    *_band("within", "Within ±5 %"),
    *_band("below", "Below -5 %"),
]


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


CORRELATIONS = [
    Column("people", "Annotators", "annotators of the study"),
    *_CONTRAST,
    Column("tasks", "Tasks", "tasks with both relative gains", "", count, "shared.pairs"),
    Column("rho", "Spearman", "rank correlation over tasks", "-1 to 1", get="shared.rho"),
    Column("", "95 %", "Fisher's interval (Bonett and Wright 2000); it generalises to other tasks",
           "", lambda ends: between(ends, two_digits), attrgetter("shared.low", "shared.high")),
    Column("low_95", "", "lower end of this interval", get="shared.low"),
    Column("high_95", "", "upper end of this interval", get="shared.high"),
    Column("p", "p", "two-sided t test, approximate for few tasks", "0 to 1", get="shared.p"),
]  # fmt: skip


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


CATEGORIES = [
    *_CONTRAST,
    Column("category", "Category", "of the unseen tasks in the ontology of CrossFit", get="task"),
    _TASKS,
    Column("seen", "Upstream tasks", "upstream tasks of the same category", show=count),
    *gain_columns("gain"),
]


def bars(study: Study, kind: str) -> list[SimpleNamespace]:
    rows = [row for row in learners(study, kind) if row.meaning == cross_task.BOTH]
    return [gain for row in rows for gain in (*row.tasks, *([row] if row.task == ALL else []))]


BARS = [
    *_LEARNER,
    *gain_columns("new_arm", "shots", "task", "metric", "gain", "95 %", "low_95", "high_95"),
]
TABLES = [
    Table("learners", "ARG of annotators and models", LEARNERS, learners),
    Table("model-gains", "Gains of models", MODEL_GAINS, model_gains),
    Table("correlations", "Correlation of gains", CORRELATIONS, correlations),
    Table("categories", "Gains by category", CATEGORIES, categories),
]  # fmt: skip
