"""The test examples of a task by how hard they were: lowest mean S1 first."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models import Avg

from analysis.stats import agreement
from analysis.tables import findings
from analysis.tables.columns import points
from annotation.models import Answer, Step, Study
from tasks.columns import Column
from tasks.models import Example, Task


@dataclass(frozen=True)
class Difficulty:
    """One example (its key): means x 100 over the `n` who count; None where there is no answer."""

    example: int
    mean: float
    n: int
    by_shots: list[float | None]
    pairwise_s1: float | None


def columns(shots: Sequence[int]) -> list[Column]:
    """The columns of the page beside the example itself."""
    return [
        Column(
            "mean",
            "Mean S1",
            "Mean S1 x 100 of this example over its n annotators, of all shots.",
            "S1 x 100",
            points,
        ),
        Column(
            "n",
            "n",
            "Annotators of this kind who answered the example, completed, and are in the analysis.",
        ),
        *(_of_shots(place, number) for place, number in enumerate(shots)),
        Column(
            "pairwise_s1",
            "Pairwise S1",
            "How far the answers agree with each other, whatever the gold: S1 x 100 of one against"
            " another, mean over all pairs of the n annotators.",
            "S1 x 100",
            points,
        ),
    ]


def _of_shots(place: int, shots: int) -> Column:
    return Column(
        "",
        f"{shots} shots",
        "Mean S1 x 100 of this example over the annotators with so many training examples.",
        "S1 x 100",
        points,
        lambda row: row.by_shots[place],
    )


def hardest(study: Study, task: Task, kind: str) -> list[Difficulty]:
    """One row per test example that somebody answered, lowest mean S1 first."""
    frame = findings.answered(study, kind, task)
    shots = sorted(study.shots)
    examples = frame.groupby("example")
    overall: Any = examples["s1"].agg(["mean", "size"])
    by_shots = frame.groupby(["example", "shots"])["s1"].mean().to_dict()
    rows = []
    groups: Iterable[Any] = examples["texts"]
    for example, texts in groups:
        means = [by_shots.get((example, k)) for k in shots]
        pairwise = agreement.pairwise_s1(list(texts))
        rows.append(
            Difficulty(
                example,
                mean=100 * overall.at[example, "mean"],
                n=int(overall.at[example, "size"]),
                by_shots=[None if mean is None else 100 * mean for mean in means],
                pairwise_s1=None if pairwise is None else 100 * pairwise,
            )
        )
    return sorted(rows, key=lambda row: _order(row.mean / 100, row.example))


def _order(mean: float, example: int) -> tuple[float, int]:
    """Hardest first. Rounded, for sums differ in their last digits."""
    return round(mean, 9), example


def neighbours(study: Study, example: Example, kind: str) -> tuple[int | None, int | None]:
    """Keys of the examples before and after this one where the hardest come first, if any."""
    people = findings.counted(study, kind).filter(scenario__task=example.split.task_id)
    means = (
        Answer.objects.filter(turn__step=Step.ANNOTATION, turn__participation__in=people)
        .values_list("turn__example")
        .annotate(Avg("s1"))
    )
    order = [key for key, mean in sorted(means, key=lambda row: _order(row[1], row[0]))]
    if example.pk not in order:
        return None, None
    place = order.index(example.pk)
    return next(iter(order[:place][-1:]), None), next(iter(order[place + 1 :]), None)
