"""Summary of behaviour in a participation: times, runs, and the browser's reports on its answers.

This module makes no judgements; monitoring/flags.py defines when a quality flag is raised. All
values can be recomputed from the exported CSV files.
"""

import math
import statistics
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import groupby, pairwise
from typing import Any, NamedTuple

from annotation.models import AnswerSpan, Participation, Step, Turn
from tasks.columns import grouped
from tasks.models import Example

READ_AT_MOST = 12  # words per second, which no reader exceeds
REPORTS = ("copies", "left_after_copy", "automated", "no_input", "narrow", "jumps")  # in Activity
BATCH = 20  # participations whose answers are in memory at the same time


@dataclass(frozen=True)
class Answered:
    step: str
    shown_at: datetime
    submitted_at: datetime
    words: int
    answer: str
    active_seconds: float
    blurs: int = 0
    away_seconds: float = 0.0
    pastes: int = 0
    reports: tuple[int, ...] = (0,) * len(REPORTS)
    s1: float = 0.0

    @property
    def seconds(self) -> float:
        return (self.submitted_at - self.shown_at).total_seconds()


class Summary(NamedTuple):
    """A summary of all answers of a participation, stored when it is completed."""

    n: int
    seconds: float
    active_seconds: float
    median_seconds: float | None
    too_fast: int
    modal_share: float | None
    longest_run: int
    longest_absence: float
    blurs: int
    away_seconds: float
    pastes: int
    checks: int
    checks_passed: int
    # Reports by the browser (REPORTS).
    copies: int = 0
    left_after_copy: int = 0
    automated: int = 0
    no_input: int = 0
    narrow: int = 0
    jumps: int = 0
    # Maps steps to the mean, SD (ddof 1; None for one answer) and number of S1 scores.
    s1: dict[str, list[Any]] | None = None


def summary(s1: Collection[float]) -> list[Any]:
    """Return the mean, SD and number of these scores, which do not depend on their order."""
    n, mean = len(s1), math.fsum(s1) / len(s1)
    squares = math.fsum((score - mean) ** 2 for score in s1)
    return [mean, math.sqrt(squares / (n - 1)) if n > 1 else None, n]


def summarise(answers: Sequence[Answered]) -> Summary:
    """Summarise a participation's answers, given in display order.

    An answer counts as too fast if it took less than max(1 s, 0.3 x the annotator's median) or less
    than its reading time.
    """
    times = [answer.seconds for answer in answers]
    median = statistics.median(times) if times else None
    limit = max(1.0, 0.3 * (median or 0.0))
    annotated = [answer.answer for answer in answers if answer.step == Step.ANNOTATION]
    marks = [mark for answer in answers for mark in (answer.shown_at, answer.submitted_at)]
    gaps = [(later - earlier).total_seconds() for earlier, later in pairwise(marks)]
    checks = [answer for answer in answers if answer.step == Step.CHECK]
    s1 = grouped((answer.step, answer.s1) for answer in answers)
    return Summary(
        n=len(answers),
        seconds=math.fsum(times),
        active_seconds=math.fsum(answer.active_seconds for answer in answers),
        median_seconds=median,
        too_fast=sum(given.seconds < max(limit, given.words / READ_AT_MOST) for given in answers),
        modal_share=(max(Counter(annotated).values()) / len(annotated) if annotated else None),
        longest_run=max((len(list(run)) for _answer, run in groupby(annotated)), default=0),
        longest_absence=max(gaps, default=0.0),
        blurs=sum(answer.blurs for answer in answers),
        away_seconds=math.fsum(answer.away_seconds for answer in answers),
        pastes=sum(answer.pastes for answer in answers),
        checks=len(checks),
        checks_passed=sum(answer.s1 == 1 for answer in checks),
        s1={step: summary(scores) for step, scores in s1.items()},
        **{
            name: sum(given.reports[place] for given in answers)
            for place, name in enumerate(REPORTS)
        },
    )


def for_participation(participation: Participation) -> Summary:
    answers = dict(answers_by_participation([participation.pk]))
    return summarise(answers.get(participation.pk, []))


def answers_by_participation(people: Sequence[int]) -> Iterator[tuple[int, list[Answered]]]:
    """Yield (participation, answers in order), in batches, omitting upstream answers."""
    counts = {}
    examples = Turn.objects.filter(participation__in=people).values("example")
    texts = Example.objects.filter(pk__in=examples)
    for pk, context, question in texts.values_list("pk", "context", "question").iterator(2000):
        counts[pk] = word_count([*context, question])
    keys = sorted(people)
    for few in (keys[first : first + BATCH] for first in range(0, len(keys), BATCH)):
        turns = Turn.objects.filter(participation__in=few, answer__isnull=False)
        turns = turns.exclude(step=Step.UPSTREAM)
        selected: dict[int, dict[str, None]] = {}
        answered = AnswerSpan.objects.filter(answer__turn__participation__in=few)
        ordered = answered.order_by("answer_id", "segment", "start")
        for turn, text in ordered.values_list("answer_id", "text"):
            selected.setdefault(turn, {})[text] = None
        spans = {turn: "\n".join(distinct) for turn, distinct in selected.items()}
        rows = turns.order_by("participation_id", "pk").values_list(
            "participation_id", "pk", "step", "shown_at", "answer__submitted_at", "example_id",
            "answer__label", "answer__values", "answer__active_seconds", "answer__s1",
            "activity__blurs", "activity__away_seconds", "activity__pastes",
            *(f"activity__{name}" for name in REPORTS),
        )  # fmt: skip
        for participation, group in groupby(rows, key=lambda row: row[0]):
            yield participation, [
                Answered(
                    step=step,
                    shown_at=shown_at,
                    submitted_at=submitted_at,
                    words=counts[example],
                    answer=label or "\n".join(filter(None, [spans.get(turn, ""), *(values or [])])),
                    active_seconds=active,
                    blurs=blurs or 0,
                    away_seconds=away or 0.0,
                    pastes=pastes or 0,
                    reports=tuple(count or 0 for count in counted),
                    s1=s1,
                )
                for (
                    _pk, turn, step, shown_at, submitted_at, example, label, values, active, s1,
                    blurs, away, pastes, *counted,
                ) in group
            ]  # fmt: skip


def word_count(texts: Iterable[str]) -> int:
    return sum(len(text.split()) for text in texts)
