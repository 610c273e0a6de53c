"""One annotator beside the others of the same scenario: score and time."""

import statistics
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import Any

from django.db.models import Avg

from annotation.models import ANALYSED, JUDGED_STEPS, Answer, Participation, Step

FEWEST = 3  # others: below that the median is somebody's own score


@dataclass(frozen=True)
class Beside:
    """A number of this annotator, and the median of the same of `n` others; None for none."""

    name: str
    own: float | None
    others: float | None
    n: int
    unit: str


def beside(annotator: Participation, hidden_steps: Collection[str]) -> list[Beside]:
    """Scores (S1 x 100) and seconds an example, by step, in one query.

    The others are those of the scenario and kind who completed and are in the analysis: a median of
    at least FEWEST says no more of one of them than the table does. Of `hidden_steps` the own score
    is not told; nor that of the others at the test while the study hides it from everybody.
    """
    by_step = _by_step(annotator)
    rows = []
    for name, steps in (("Training", JUDGED_STEPS), ("Test", (Step.ANNOTATION,))):
        groups = [by_step[step] for step in steps if step in by_step]
        people = {pk: numbers for group in groups for pk, numbers in group.items()}
        if annotator.pk not in people:
            continue
        own, own_seconds = people.pop(annotator.pk)
        scores = [score for score, _seconds in people.values()]
        is_hidden = any(step in hidden_steps for step in steps)
        told = None if is_hidden else 100 * own
        if is_hidden and Step.ANNOTATION in steps and annotator.study.covers_test_scores:
            scores = []
        times = [seconds for _score, seconds in people.values()]
        rows += [
            _row(f"{name} S1", told, [100 * score for score in scores], "x 100"),
            _row(f"{name}, seconds an example", own_seconds, times, "s"),
        ]
    return rows


def _row(name: str, own: float | None, others: list[float], unit: str) -> Beside:
    median = statistics.median(others) if len(others) >= FEWEST else None
    return Beside(name, own, median, len(others), unit)


def _by_step(annotator: Participation) -> dict[str, dict[int, tuple[float, float]]]:
    """Step -> participation -> (mean S1, mean active seconds), of the others and this one."""
    group = Participation.objects.filter(scenario=annotator.scenario_id, kind=annotator.kind)
    people = group.filter(ANALYSED) | group.filter(pk=annotator.pk)
    rows: Iterable[Any] = (
        Answer.objects.filter(turn__participation__in=people.values("pk"))
        .order_by()
        .values_list("turn__step", "turn__participation")
        .annotate(score=Avg("s1"), seconds=Avg("active_seconds"))
    )
    by_step: dict[str, dict[int, tuple[float, float]]] = {}
    for step, pk, score, seconds in rows:
        by_step.setdefault(step, {})[pk] = (score, seconds or 0.0)
    return by_step
