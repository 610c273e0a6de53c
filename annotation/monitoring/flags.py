"""What an annotator's behaviour looked like: signs that are worth a look, never acted on.

Each sign is computed from what the exported CSVs hold too, so that anybody can compute it again.
Thresholds are those of FACTS 3.7, or stand below with their reason.
"""

import math
import statistics
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import groupby, pairwise
from typing import NamedTuple

from django.db.models import Count

from annotation.models import AnswerSpan, Kind, Participation, Step, Study, Turn
from tasks.models import Example

READ_AT_MOST = 12  # words per second: faster nobody reads
SHARE_TOO_FAST = 0.05  # of the answers; a slip of the finger is no behaviour
MODAL_SHARE = 0.9  # of at least FEWEST answers
FEWEST = 10
LONGEST_RUN = 15  # the same answer so often in a row
ABSENCE = 3600  # seconds
BLURS_PER_ANSWER = 0.2
FAST_PERSON_SDS = 3  # below the mean of the others' log-medians, of at least OTHERS
OTHERS = 5
AT_ONCE = 20  # participations whose answers are in memory together

# Name of each flag -> what it is called where they are counted.
FLAGS = {
    "too_fast": "too fast",
    "fast_person": "much faster than the others",
    "one_answer": "one answer nearly always",
    "run": "one answer many times in a row",
    "absence": "long absence",
    "paste": "pasted",
    "blur": "often left the page",
    "checks": "failed attention checks",
    "shared_browser": "shared browser",
}


@dataclass(frozen=True)
class Answered:
    """One answer as behaviour sees it."""

    step: str
    shown_at: datetime
    submitted_at: datetime
    words: int
    answer: str
    active_seconds: float
    blurs: int = 0
    away_seconds: float = 0.0
    pastes: int = 0
    right: bool = False

    @property
    def seconds(self) -> float:
        return (self.submitted_at - self.shown_at).total_seconds()


class Signs(NamedTuple):
    """The numbers of one participation, in the order of its answers.

    Stored with a participation when it is completed, from when on its answers do not change.
    """

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


def signs(answers: Sequence[Answered]) -> Signs:
    """Sum up the answers of one participation, given in the order in which they were shown.

    An answer is too fast under max(1 s, 0.3 of the own median), or under the time to read it.
    """
    times = [one.seconds for one in answers]
    median = statistics.median(times) if times else None
    limit = max(1.0, 0.3 * (median or 0.0))
    annotated = [one.answer for one in answers if one.step == Step.ANNOTATION]
    marks = [mark for one in answers for mark in (one.shown_at, one.submitted_at)]
    gaps = [(later - earlier).total_seconds() for earlier, later in pairwise(marks)]
    checks = [one for one in answers if one.step == Step.CHECK]
    return Signs(
        n=len(answers),
        seconds=math.fsum(times),
        active_seconds=math.fsum(one.active_seconds for one in answers),
        median_seconds=median,
        too_fast=sum(one.seconds < max(limit, one.words / READ_AT_MOST) for one in answers),
        modal_share=(max(Counter(annotated).values()) / len(annotated) if annotated else None),
        longest_run=max((len(list(run)) for _answer, run in groupby(annotated)), default=0),
        longest_absence=max(gaps, default=0.0),
        blurs=sum(one.blurs for one in answers),
        away_seconds=math.fsum(one.away_seconds for one in answers),
        pastes=sum(one.pastes for one in answers),
        checks=len(checks),
        checks_passed=sum(one.right for one in checks),
    )


def flags(
    found: Signs, others: Sequence[float] = (), shares_browser: bool = False
) -> dict[str, str]:
    """Name of each flag -> what was seen; `others` are the others' medians (s) in the group."""
    said = {}
    if found.n and found.too_fast >= SHARE_TOO_FAST * found.n and found.too_fast:
        said["too_fast"] = f"{found.too_fast} of {found.n} answers were too fast to be read"
    if is_fast_person(found.median_seconds, others):
        said["fast_person"] = (
            f"median {found.median_seconds:.1f} s, more than {FAST_PERSON_SDS} SDs (of logarithms)"
            f" faster than {len(others)} others"
        )
    enough = found.n - found.checks >= FEWEST
    if found.modal_share is not None and enough and found.modal_share >= MODAL_SHARE:
        said["one_answer"] = f"the same answer in {100 * found.modal_share:.0f} % of the examples"
    if found.longest_run >= LONGEST_RUN:
        said["run"] = f"the same answer {found.longest_run} times in a row"
    if found.longest_absence > ABSENCE:
        said["absence"] = f"away for {found.longest_absence / 60:.0f} minutes at once"
    if found.pastes:
        said["paste"] = f"something was pasted {found.pastes} times"
    if found.blurs > BLURS_PER_ANSWER * found.n:
        said["blur"] = (
            f"the page was left {found.blurs} times,"
            f" for {found.away_seconds / 60:.0f} minutes in all"
        )
    if found.checks_passed < found.checks:
        missed = found.checks - found.checks_passed
        said["checks"] = f"{missed} of {found.checks} attention checks failed"
    if shares_browser:
        said["shared_browser"] = "the same browser came under another id too"
    return said


def is_fast_person(median: float | None, others: Sequence[float]) -> bool:
    """Is this median time far below those of the others (all > 0), by their logarithms?"""
    known = [math.log(other) for other in others if other > 0]
    if not median or len(known) < OTHERS:
        return False
    spread = statistics.stdev(known)
    return math.log(median) < statistics.mean(known) - FAST_PERSON_SDS * spread


@dataclass(frozen=True)
class Flagged:
    """Of the people who completed: how many have a flag, and how many have each (by FLAGS)."""

    completed: int
    people: int
    by_flag: list[tuple[str, int]]


def of_completed(study: Study) -> Flagged:
    """Counted from what was stored when they completed: two queries, and no answer is read.

    The others whom somebody is compared with are the people who completed the same scenario.
    """
    done = study.participations.filter(kind=Kind.PERSON, signs__isnull=False)
    people = {one.pk: one for one in done.only("study", "scenario", "kind", "browser", "signs")}
    found = _flagged(people, {}, _shared_browsers(study)).values()
    counts = Counter(name for _signs, said in found for name in said)
    return Flagged(
        completed=len(people),
        people=sum(bool(said) for _signs, said in found),
        by_flag=[(words, counts[name]) for name, words in FLAGS.items() if counts[name]],
    )


def of_one(participation: Participation) -> Signs:
    """The signs of this participation, from its answers."""
    answers = dict(_answers_by_participation([participation.pk]))
    return signs(answers.get(participation.pk, []))


def of_study(study: Study, scenario: int | None = None) -> dict[int, tuple[Signs, dict[str, str]]]:
    """Participation -> its signs and flags, of everybody who was shown an example.

    Of the whole study, or of one scenario (its key). Only the answers of those who have not
    completed are read.
    """
    people = {
        one.pk: one
        for one in study.participations.defer("training_order", "annotation_order", "checks")
        if scenario in (None, one.scenario_id)
    }
    others = [pk for pk, one in people.items() if one.signs is None]
    read = {pk: signs(answers) for pk, answers in _answers_by_participation(others)}
    return _flagged(people, read, _shared_browsers(study))


def _flagged(
    people: dict[int, Participation], read: dict[int, Signs], shared_browsers: set[str]
) -> dict[int, tuple[Signs, dict[str, str]]]:
    """Participation -> its signs (stored, or read just now) and flags; who has none is left out."""
    found = {pk: Signs(**one.signs) for pk, one in people.items() if one.signs} | read
    medians: dict[tuple[int, str], dict[int, float]] = defaultdict(dict)
    for pk, one in found.items():
        if one.median_seconds:
            medians[people[pk].scenario_id, people[pk].kind][pk] = one.median_seconds
    return {
        pk: (one, flags(one, _others(people[pk], medians), people[pk].browser in shared_browsers))
        for pk, one in found.items()
    }


def _shared_browsers(study: Study) -> set[str]:
    """Those that came under more than one id."""
    told = study.participations.exclude(browser="").order_by().values("browser")
    counts = told.annotate(workers=Count("worker", distinct=True))
    return set(counts.filter(workers__gt=1).values_list("browser", flat=True))


def _others(own: Participation, medians: dict[tuple[int, str], dict[int, float]]) -> list[float]:
    """Medians of the others who did the same scenario, of the same kind."""
    group = medians[own.scenario_id, own.kind]
    return [median for pk, median in group.items() if pk != own.pk]


def _answers_by_participation(people: Sequence[int]) -> Iterator[tuple[int, list[Answered]]]:
    """Participation -> its answers in order; those of AT_ONCE participations are in memory."""
    words = {}
    shown = Turn.objects.filter(participation__in=people).values("example")
    texts = Example.objects.filter(pk__in=shown)
    for pk, context, question in texts.values_list("pk", "context", "question").iterator(2000):
        words[pk] = word_count([*context, question])
    keys = sorted(people)
    for few in (keys[first : first + AT_ONCE] for first in range(0, len(keys), AT_ONCE)):
        turns = Turn.objects.filter(participation__in=few, answer__isnull=False)
        spans = _texts_by_turn(few)
        rows = turns.order_by("participation_id", "pk").values_list(
            "participation_id", "pk", "step", "shown_at", "answer__submitted_at", "example_id",
            "answer__label", "answer__active_seconds", "answer__s1", "activity__blurs",
            "activity__away_seconds", "activity__pastes",
        )  # fmt: skip
        for participation, group in groupby(rows, key=lambda row: row[0]):
            yield participation, [
                Answered(
                    step=step,
                    shown_at=shown_at,
                    submitted_at=submitted_at,
                    words=words[example],
                    answer=label or spans.get(turn, ""),
                    active_seconds=active,
                    blurs=blurs or 0,
                    away_seconds=away or 0.0,
                    pastes=pastes or 0,
                    right=s1 == 1,
                )
                for (
                    _pk, turn, step, shown_at, submitted_at, example, label, active, s1, blurs,
                    away, pastes,
                ) in group
            ]  # fmt: skip


def _texts_by_turn(people: Sequence[int]) -> dict[int, str]:
    texts: dict[int, dict[str, None]] = {}
    spans = AnswerSpan.objects.filter(answer__turn__participation__in=people)
    for turn, text in spans.order_by("answer_id", "segment", "start").values_list(
        "answer_id", "text"
    ):
        texts.setdefault(turn, {})[text] = None
    return {turn: "\n".join(found) for turn, found in texts.items()}


def word_count(texts: Iterable[str]) -> int:
    """How many words there are to read: runs without blanks."""
    return sum(len(text.split()) for text in texts)
