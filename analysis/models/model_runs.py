"""Model runs, both uploaded and seated, with their properties and scores.

This module also decides which runs were trained on the examples that the study's annotators saw,
and computes scores of runs with alternative gold answers treated as one set.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import SimpleNamespace

from django.db.models import Count, Q, Sum, TextChoices

from analysis.heavy import pd
from analysis.scores import frames, test_sets
from analysis.scores.columns import table_columns
from analysis.scores.scores import Score, over
from annotation.models import Answer, Kind, LedgerEntry, ModelRun, Status, Study
from tasks.columns import grouped
from tasks.metrics import SetScore, s1
from tasks.models import Prediction, PredictionFileQuerySet, Split, Task
from tasks.models.predictions import Method, Numbering, Seen, Tuning
from tasks.predictions.store import RUN

# (model, task version key, shots), where shots is None for fully supervised runs
Place = tuple[str, int, int | None]


@dataclass(frozen=True)
class Run:
    """The stated properties of a model's files. If values differ, they are joined by semicolons."""

    numbering: str = ""
    seen_test: str = ""
    predicted_on: str = ""
    revision: str = ""
    method: str = ""
    tuning: str = ""
    arm: str = ""

    @property
    def text(self) -> str:
        test, numbers = _labels(Seen, self.seen_test), _labels(Numbering, self.numbering)
        tuning = _labels(Tuning, self.tuning)
        parts = {
            "method": _labels(Method, self.method) if self.method else "",
            "choice of prompts and settings": self.tuning
            and f"prompts and settings chosen {tuning}",
            "exposure to the test set": self.seen_test and f"may have seen the test set: {test}",
            "numbers of splits": self.numbering and f"numbers of splits: {numbers}",
            "date": self.predicted_on,
            "revision": self.revision and f"revision {self.revision}",
        }
        texts = [text for text in parts.values() if text]
        if unstated := [name for name, text in parts.items() if not text]:
            texts.append(f"not stated: {', '.join(unstated)}")
        return "; ".join(texts)


def _labels(choices: type[TextChoices], values: str) -> str:
    return " or ".join(str(choices(value).label) for value in values.split("; "))


def joined(stated: Iterable[tuple[str, ...]]) -> Run:
    """Join the properties of several files, listing each distinct value once.

    >>> joined([("published", "no"), ("published", "maybe")]).seen_test
    'maybe; no'
    """
    different = [sorted(set(values)) for values in zip(*stated, strict=True)]
    return Run(*("; ".join(values) for values in different))


def runs(files: PredictionFileQuerySet) -> dict[Place, Run]:
    rows = files.order_by().values_list("model__name", "task_id", "shots", *RUN)
    stated = grouped((row[:3], tuple(str(value or "") for value in row[3:])) for row in rows)
    return {place: joined(files) for place, files in stated.items()}


def equally_trained(study: Study, files: PredictionFileQuerySet) -> set[int]:
    """Return the keys of files trained on splits that this study's annotators also had.

    A split number refers to the numbering stated for the run. Runs whose numbering is unknown or
    differs from the task's are excluded, unless the split has the same number in both numberings.
    Zero-shot runs have no training, so all of their files are included.
    """
    numberings = {True: Numbering.RECHAINED, False: Numbering.PUBLISHED}
    splits = Split.objects.filter(task__in=study.tasks.all(), kind=Split.Kind.TRAIN)
    unchanged = {
        (split.task_id, split.shots, split.number)
        for split in splits.filter(number__in=study.splits)
        if split.filename.endswith(f"_{split.shots}_{split.number}.jsonl")
    }
    return {
        file.pk
        for file in files.prefetch_related("task")  # there are hundreds of files but few tasks
        if not file.shots
        or (
            file.split_number in study.splits
            and (
                file.numbering == numberings[file.task.rechained]
                or (
                    file.numbering != Numbering.RECHAINED
                    and (file.task_id, file.shots, file.split_number) in unchanged
                )
            )
        )
    }


def splits_as_one_set(
    files: PredictionFileQuerySet, tasks: Mapping[int, Task]
) -> dict[Place, list[float]]:
    """Return scores in [0, 1] by place, treating alternative gold answers as one set."""
    alternatives = [pk for pk, task in tasks.items() if task.card.gold_rule == "any_of"]
    rows = Prediction.objects.filter(
        file__in=files.filter(task__in=alternatives).order_by()
    ).values_list(
        "file__model__name", "file__task_id", "file__shots", "file__split_number",
        "predicted", "example__gold",
    )  # fmt: skip
    scores = grouped(
        ((model, task, shots, number), s1(predicted, gold))
        for model, task, shots, number, predicted, gold in rows.iterator(chunk_size=5000)
    )
    return grouped((of[:3], math.fsum(values) / len(values)) for of, values in scores.items())


def splits(files: PredictionFileQuerySet, tasks: Iterable[Task]) -> dict[Place, list[SetScore]]:
    by_place: dict[Place, list[SetScore]] = defaultdict(list)
    under = test_sets.file_scores(files, tasks)
    rows = files.with_scores().values_list("pk", "model__name", "task_id", "shots", "mean_s1")  # type: ignore[misc]  # annotated
    for pk, model, task, shots, mean in rows:
        score = under[pk][1] if pk in under else SetScore(mean, "", [], "")
        by_place[model, task, shots].append(score)
    return dict(by_place)


def mean_of(scores: Sequence[SetScore], of: int) -> Score:
    return over([score.value for score in scores], of, [score.remark for score in scores])


# Scores and effort of models that took part in a study. Such a model does what humans do and is
# scored in the same way. For each model and shot count, replicates on a split are averaged first,
# and then the splits. The SD is over splits, as for uploaded predictions, or over replicates for
# zero-shot runs.


def seated_scores(
    study: Study, tasks: list[Task], shots: int, frame: pd.DataFrame
) -> Iterator[tuple[str, str, list[Score]]]:
    """Yield (model, unit of the SD, one score per task) at this shot count, sorted by name."""
    models = frames.seats(study)
    values: dict[frames.Seated, dict[str, dict[int, list[float]]]] = defaultdict(
        lambda: defaultdict(lambda: defaultdict(list))
    )
    counted = frames.counted(frame, Kind.MODEL)
    for row in counted[counted["shots"] == shots].to_dict("records"):
        model = models.get(row["participation"])
        if model is not None:
            split = int(row["split"]) if shots else 0
            values[model][row["task"]][split].append(row["score"])
    of = len(study.splits) if shots else 0
    for model in sorted(values, key=str):
        cells = [_over_splits(values[model][task.name], of) for task in tasks]
        yield model.title, "splits" if shots else "runs", cells


def seated_runs(study: Study) -> dict[tuple[int, int, str], dict[int, int | None]]:
    """Map (task version key, shots, title) to the runs in the analysis (keys) and their splits."""
    models = frames.seats(study)
    runs: dict[tuple[int, int, str], dict[int, int | None]] = defaultdict(dict)
    counted = study.participations.counted(Kind.MODEL).order_by("pk")
    rows = counted.values_list(
        "pk", "scenario__task_id", "scenario__shots", "scenario__split_number"
    )
    for pk, task, shots, split in rows:
        if pk in models:
            runs[task, shots, models[pk].title][pk] = split
    return dict(runs)


def _over_splits(by_split: dict[int, list[float]], of: int) -> Score:
    """Return a cell's score. `of` is the number of splits, or 0 if there was no training."""
    if not of:
        replicates = [value for group in by_split.values() for value in group]
        return over(replicates, len(replicates))
    return over([math.fsum(group) / len(group) for group in by_split.values()], of)


EFFORT = table_columns(
    "effort",
    minutes_per_answer=lambda row: row.minutes / row.answers,
    cost_per_answer=lambda row: row.cost / row.answers,
    invalid_share=lambda row: math.nan if row.invalid is None else row.invalid / row.answers,
)


def efforts(study: Study) -> list[SimpleNamespace]:
    """Return the effort of humans and of each seated model, or [] if no model took a seat.

    `minutes` is working time, or time spent waiting for a model. `cost` is NaN if unknown.
    """
    stored = ModelRun.objects.filter(participation__study=study).in_bulk()
    runs = grouped((model, stored[pk]) for pk, model in frames.seats(study).items() if pk in stored)
    rows = [_model_row(model, runs[model]) for model in sorted(runs, key=str)]
    return [*_people_rows(study), *(row for row in rows if row.answers)] if rows else []


def _model_row(model: frames.Seated, runs: list[ModelRun]) -> SimpleNamespace:
    costs = [math.nan if run.cost_usd is None else float(run.cost_usd) for run in runs]
    return SimpleNamespace(
        who=model.title, kind=Kind.MODEL, answers=sum(run.answers for run in runs),
        minutes=math.fsum(run.seconds for run in runs) / 60, cost=math.fsum(costs), currency="USD",
        invalid=sum(run.invalid for run in runs), refusals=sum(run.refusals for run in runs),
    )  # fmt: skip


def _people_rows(study: Study) -> Iterator[SimpleNamespace]:
    people = study.participations.filter(kind=Kind.PERSON, status=Status.COMPLETED)
    work = Answer.objects.filter(turn__participation__in=people).aggregate(
        n=Count("pk"), seconds=Sum("active_seconds", default=0.0)
    )
    paid = LedgerEntry.objects.filter(participation__in=people, participation__is_paid=True)
    cents = paid.aggregate(total=Sum("cents", filter=~Q(kind="bonus"), default=0))["total"]
    if work["n"]:
        yield SimpleNamespace(
            who="People",
            kind=Kind.PERSON,
            answers=work["n"],
            minutes=work["seconds"] / 60,
            cost=cents / 100 if study.is_paid else math.nan,
            currency=study.currency,
            invalid=None,
            refusals=None,
        )
