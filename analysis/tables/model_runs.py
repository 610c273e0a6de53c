"""What uploaders state of a model's run: numbering of splits, test set seen, date, revision."""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

from tasks.models import PredictionFileQuerySet
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
        """In words, for a reader of a row; what is not stated is said."""
        seen = " or ".join(Seen(value).label for value in self.seen_test.split("; "))
        numbers = " or ".join(Numbering(value).label for value in self.numbering.split("; "))
        parts = [
            f"may have seen the test set: {seen}",
            f"numbers of splits: {numbers}",
            self.predicted_on or "date not stated",
            f"revision {self.revision}" if self.revision else "revision not stated",
        ]
        return "; ".join(parts)


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
