"""Examples with doubtful gold answers: annotators agree with one another, but not with the gold."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from operator import attrgetter
from types import SimpleNamespace

from django.contrib.auth.models import User
from django.db.models import QuerySet

from analysis.heavy import pd
from analysis.scores.columns import json_list, table_columns
from annotation.models import ExampleComment, GoldOpinion, ProblemReport, Study
from tasks.clock import database_now
from tasks.models import Example

FEWEST_AGREEING = 2  # annotators who must agree with each other


COLUMNS = table_columns(
    "gold_audit",
    answer=lambda row: json_list(row.answer),
    gold=lambda row: json_list(row.gold),
)
TALLY = table_columns("tally", {"fewest_agreeing": FEWEST_AGREEING})


@dataclass
class Unit:
    """An example (key) with `n` answers. `answer` and `s1` are those of the first annotator."""

    task: str
    example: int
    answer: frozenset[str]
    s1: float
    n: int = 0
    is_unanimous: bool = True

    @property
    def is_doubtful(self) -> bool:
        return self.is_unanimous and self.s1 < 1


def units(frame: pd.DataFrame) -> list[Unit]:
    units: dict[int, Unit] = {}
    columns = (frame[name] for name in ("task", "example", "texts", "s1"))
    for task, example, texts, s1 in zip(*columns, strict=True):
        unit = units.setdefault(example, Unit(task, example, texts, s1))
        unit.n += 1
        unit.is_unanimous &= texts == unit.answer
    return [unit for unit in units.values() if unit.n >= FEWEST_AGREEING]


def tallies(answered: Sequence[Unit]) -> list[SimpleNamespace]:
    counts = {
        name: Counter(unit.task for unit in answered if keeps(unit))
        for name, keeps in {
            "doubtful": attrgetter("is_doubtful"),
            "unanimous": attrgetter("is_unanimous"),
            "examples": attrgetter("task"),
        }.items()
    }
    return [
        SimpleNamespace(task=task, **{name: count[task] for name, count in counts.items()})
        for task in sorted(counts["examples"])
    ]


Doubts = tuple[list[SimpleNamespace], list[SimpleNamespace]]


def doubts(frame: pd.DataFrame) -> Doubts:
    """Return a tally for each task, and the doubtful examples in the order of the test file.

    `frame` comes from `findings.answered`. `example` is an example's primary key. `s1` is the score
    x 100 that all annotators share.
    """
    answered = units(frame)
    doubtful = {unit.example: unit for unit in answered if unit.is_doubtful}
    examples = Example.objects.filter(pk__in=list(doubtful)).select_related("split__task")
    order = ("split__task__name", "split__task__version", "position")
    rows = [
        SimpleNamespace(
            example=example.pk,
            task=example.split.task.name,
            task_version=example.split.task.version,
            source_id=example.source_id,
            question=example.question,
            n=doubtful[example.pk].n,
            answer=sorted(doubtful[example.pk].answer),
            gold=list(dict.fromkeys(example.gold)),
            s1=100 * doubtful[example.pk].s1,
        )
        for example in examples.order_by(*order)
    ]
    return tallies(answered), rows


def on(study: Study, example: Example) -> QuerySet[ExampleComment]:
    return study.comments.filter(example=example).select_related("by")


def reported(study: Study) -> QuerySet[ProblemReport]:
    rows = ProblemReport.objects.filter(turn__participation__study=study)
    return rows.order_by("reported_at", "pk")


def add(study: Study, example: Example, text: str, by: User, gold: str = "") -> ExampleComment:
    """Store a comment with its author, time and opinion of the gold. Comments never change."""
    return study.comments.create(example=example, text=text, gold=gold, by=by, at=database_now())


def wrong_gold(comments: Iterable[ExampleComment]) -> ExampleComment | None:
    *_earlier, latest = [None, *(comment for comment in comments if comment.gold)]
    return latest if latest and latest.gold == GoldOpinion.WRONG else None


def wrong_golds(study: Study) -> dict[int, ExampleComment]:
    comments = study.comments.exclude(gold="").select_related("by", "example__split__task")
    latest = {comment.example_id: comment for comment in comments.order_by("at", "pk")}
    return {pk: comment for pk, comment in latest.items() if wrong_gold([comment])}
