"""The runs of a model: what their uploader states of them, and the score of each file.

And what a study makes of the runs: which were trained on the very examples that its people saw,
and their scores with alternative golds as one set.
"""

import math
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from analysis.tables import test_sets
from analysis.tables.scores import Score, over
from annotation.models import Study
from tasks.metrics import s1
from tasks.models import Prediction, PredictionFileQuerySet, Split, Task
from tasks.models.predictions import Numbering, Seen
from tasks.predictions.store import RUN

Place = tuple[str, int, int]  # model, key of the task version, shots


@dataclass(frozen=True)
class Run:
    """What is stated of some files of a model; several statements are joined by a semicolon."""

    numbering: str = ""
    seen_test: str = ""
    predicted_on: str = ""
    revision: str = ""

    @property
    def text(self) -> str:
        """In words, for a reader of a row; what is not stated is named at the end."""
        seen = " or ".join(Seen(value).label for value in self.seen_test.split("; "))
        numbers = " or ".join(Numbering(value).label for value in self.numbering.split("; "))
        parts = {
            "the test set seen or not": self.seen_test and f"may have seen the test set: {seen}",
            "numbers of splits": self.numbering and f"numbers of splits: {numbers}",
            "date": self.predicted_on,
            "revision": self.revision and f"revision {self.revision}",
        }
        told = [words for words in parts.values() if words]
        if unstated := [name for name, words in parts.items() if not words]:
            told.append(f"not stated: {', '.join(unstated)}")
        return "; ".join(told)


def joined(stated: Iterable[tuple[str, ...]]) -> Run:
    """The statements of several files, each different one once.

    >>> joined([("published", "no", "", "a"), ("published", "maybe", "", "a")]).seen_test
    'maybe; no'
    """
    different = [sorted(set(values)) for values in zip(*stated, strict=True)]
    return Run(*("; ".join(values) for values in different))


def runs(files: PredictionFileQuerySet) -> dict[Place, Run]:
    """What is stated of the files at each place."""
    stated: dict[Place, list[tuple[str, ...]]] = defaultdict(list)
    rows = files.order_by().values_list("model__name", "task_id", "shots", *RUN)
    for model, task, shots, *values in rows:
        stated[model, task, shots].append(tuple(str(value or "") for value in values))
    return {place: joined(files) for place, files in stated.items()}


def equally_trained(study: Study, files: PredictionFileQuerySet) -> set[int]:
    """Keys of those files that were trained on a training split of this study's people.

    A number means a split only in the numbering that the run states, so a run in another one than
    the task's is left out, and so is one that states none, unless the split has the same number in
    both. At zero shots nothing is trained: all are equal.
    """
    own = {True: Numbering.RECHAINED, False: Numbering.PUBLISHED}
    splits = Split.objects.filter(task__in=study.tasks.all(), kind=Split.Kind.TRAIN)
    same = {
        (split.task_id, split.shots, split.number)
        for split in splits.filter(number__in=study.splits)
        if split.filename.endswith(f"_{split.shots}_{split.number}.jsonl")
    }
    return {
        file.pk
        for file in files.prefetch_related("task")  # hundreds of files, a few tasks
        if not file.shots
        or (
            file.split_number in study.splits
            and (
                file.numbering == own[file.task.rechained]
                or (
                    file.numbering != Numbering.RECHAINED
                    and (file.task_id, file.shots, file.split_number) in same
                )
            )
        )
    }


def splits_as_one_set(
    files: PredictionFileQuerySet, tasks: Mapping[int, Task]
) -> dict[Place, list[float]]:
    """Place -> score of each of its files in [0, 1] with all golds of an example as one set.

    Of tasks whose golds are alternatives alone.
    """
    alternatives = [pk for pk, task in tasks.items() if task.card.gold_rule == "any_of"]
    scores: dict[tuple[Place, int | None], list[float]] = defaultdict(list)
    rows = Prediction.objects.filter(
        file__in=files.filter(task__in=alternatives).order_by()
    ).values_list(
        "file__model__name", "file__task_id", "file__shots", "file__split_number",
        "predicted", "example__gold",
    )  # fmt: skip
    for model, task, shots, number, predicted, gold in rows.iterator(chunk_size=5000):
        scores[(model, task, shots), number].append(s1(predicted, gold))
    by_place: dict[Place, list[float]] = defaultdict(list)
    for (at, _number), own in scores.items():
        by_place[at].append(math.fsum(own) / len(own))
    return by_place


class FileScore(NamedTuple):
    """The score of a file under the metric of its task's card, and what must stand beside it."""

    value: float
    remark: str


def splits(files: PredictionFileQuerySet, tasks: Iterable[Task]) -> dict[Place, list[FileScore]]:
    """(model, key of the task version, shots) -> the score of each of its files, of these tasks."""
    by_place: dict[Place, list[FileScore]] = defaultdict(list)
    under = test_sets.of_files(files, tasks)
    rows = files.with_scores().values_list("pk", "model__name", "task_id", "shots", "mean_s1")  # type: ignore[misc]  # annotated
    for pk, model, task, shots, mean in rows:
        own = under[pk][1] if pk in under else None
        scored = FileScore(own.value, own.remark) if own else FileScore(mean, "")
        by_place[model, task, shots].append(scored)
    return dict(by_place)


def mean_of(scores: Sequence[FileScore], of: int) -> Score:
    """Over the files of a model, of so many that there could be."""
    return over([own.value for own in scores], of, [own.remark for own in scores])


def training_files(tasks: Collection[Task]) -> Counter[tuple[int, int]]:
    """(key of the task version, shots) -> on how many splits a model can be trained.

    At zero shots nothing is trained: one run.
    """
    files = Split.objects.filter(task__in=tasks, kind=Split.Kind.TRAIN)
    counts = Counter(
        (task, shots) for task, shots in files.values_list("task_id", "shots") if shots is not None
    )
    counts.update((task.pk, 0) for task in tasks)
    return counts
