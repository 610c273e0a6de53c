"""Quality flags: signs of possible careless work, which never have automatic consequences.

Each sign is computed from what the exported CSVs hold too, so that anybody can compute it again.
Thresholds: docs/statistics.md#quality-flags.
"""

import math
import statistics
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from django.db.models import Count

from annotation.models import ORDERS, Kind, Participation, Study
from annotation.steps import qualification
from annotation.steps.signs import Signs, answers_by_participation, signs

SHARE_TOO_FAST = 0.05  # of the answers; a slip of the finger is no behaviour
MODAL_SHARE = 0.9  # of at least FEWEST answers
FEWEST = 10
LONGEST_RUN = 15  # the same answer so often in a row
ABSENCE = 3600  # seconds
BLURS_PER_ANSWER = 0.2
FAST_PERSON_SDS = 3  # below the mean of the others' log-medians, of at least OTHERS
OTHERS = 5

# Name of each flag -> what it is called where they are counted.
FLAGS = {
    "too_fast": "too fast",
    "fast_person": "much faster than others",
    "one_answer": "nearly always the same answer",
    "run": "same answer many times in a row",
    "absence": "long absence",
    "paste": "pasted text",
    "blur": "page often left",
    "checks": "failed attention checks",
    "shared_browser": "shared browser",
}


def flags(
    work: Signs, others: Sequence[float] = (), shares_browser: bool = False
) -> dict[str, str]:
    """Name of each flag -> what was seen; `others` are the others' medians (s) in the group."""
    seen = {}
    if work.n and work.too_fast >= SHARE_TOO_FAST * work.n and work.too_fast:
        seen["too_fast"] = f"{work.too_fast} of {work.n} answers were too fast to have been read"
    if is_fast_person(work.median_seconds, others):
        seen["fast_person"] = (
            f"median {work.median_seconds:.1f} s, more than {FAST_PERSON_SDS} SDs (of logarithms)"
            f" faster than {len(others)} others"
        )
    enough = work.n - work.checks >= FEWEST
    if work.modal_share is not None and enough and work.modal_share >= MODAL_SHARE:
        seen["one_answer"] = f"the same answer in {100 * work.modal_share:.0f} % of the examples"
    if work.longest_run >= LONGEST_RUN:
        seen["run"] = f"the same answer {work.longest_run} times in a row"
    if work.longest_absence > ABSENCE:
        seen["absence"] = f"away for {work.longest_absence / 60:.0f} minutes at once"
    if work.pastes:
        seen["paste"] = f"text was pasted {work.pastes} times"
    if work.blurs > BLURS_PER_ANSWER * work.n:
        seen["blur"] = (
            f"the page was left {work.blurs} times,"
            f" for {work.away_seconds / 60:.0f} minutes in total"
        )
    if work.checks_passed < work.checks:
        missed = work.checks - work.checks_passed
        seen["checks"] = f"{missed} of {work.checks} attention checks failed"
    if shares_browser:
        seen["shared_browser"] = "the same browser was also used under another id"
    return seen


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

    @property
    def in_words(self) -> str:
        """too fast 3, shared browser 2."""
        return ", ".join(f"{words} {count}" for words, count in self.by_flag)


def for_completed(study: Study) -> Flagged:
    """Counted from what was stored when they completed: two queries, and no answer is read.

    The others whom somebody is compared with are the people who completed the same scenario.
    """
    done = study.participations.filter(kind=Kind.PERSON, signs__isnull=False)
    people = {
        person.pk: person for person in done.only("study", "scenario", "kind", "browser", "signs")
    }
    flagged = _flagged(people, {}, _shared_browsers(study)).values()
    counts = Counter(name for _signs, theirs in flagged for name in theirs)
    return Flagged(
        completed=len(people),
        people=sum(bool(theirs) for _signs, theirs in flagged),
        by_flag=[(words, counts[name]) for name, words in FLAGS.items() if counts[name]],
    )


def for_study(study: Study, scenario: int | None = None) -> dict[int, tuple[Signs, dict[str, str]]]:
    """Participation -> its signs and flags, of everybody who was shown an example.

    Of the whole study, or of one scenario (its key). Only the answers of those who have not
    completed are read.
    """
    people = {
        person.pk: person
        for person in study.participations.defer(*ORDERS)
        if scenario in (None, person.scenario_id)
    }
    others = [pk for pk, person in people.items() if person.signs is None]
    read = {pk: signs(answers) for pk, answers in answers_by_participation(others)}
    return _flagged(people, read, _shared_browsers(study))


def sentences(study: Study, scenario: int | None = None) -> dict[int, list[str]]:
    """Participation -> what was seen, in sentences; of everybody who was shown an example."""
    again = qualification.flagged_again(study)
    raised = {pk: theirs for pk, (_signs, theirs) in for_study(study, scenario).items()}
    return {
        pk: [*raised.get(pk, {}).values(), *([again[pk]] if pk in again else [])]
        for pk in raised.keys() | again.keys()
    }


def ranked(study: Study, seen: dict[int, list[str]]) -> list[tuple[Participation, list[str]]]:
    """The annotators with flags among `seen`, most flags first, then by scenario."""
    people = study.participations.select_related("scenario__task").order_by("scenario", "pk")
    people = people.defer(*ORDERS)
    flagged = [(person, seen[person.pk]) for person in people if seen.get(person.pk)]
    return sorted(flagged, key=lambda pair: -len(pair[1]))


def _flagged(
    people: dict[int, Participation], read: dict[int, Signs], shared_browsers: set[str]
) -> dict[int, tuple[Signs, dict[str, str]]]:
    """Participation -> its signs (stored or computed now) and flags, if it has any."""
    works = {pk: Signs(**person.signs) for pk, person in people.items() if person.signs} | read
    medians: dict[tuple[int, str], dict[int, float]] = defaultdict(dict)
    for pk, work in works.items():
        if work.median_seconds:
            medians[people[pk].scenario_id, people[pk].kind][pk] = work.median_seconds
    return {
        pk: (work, flags(work, _others(people[pk], medians), people[pk].browser in shared_browsers))
        for pk, work in works.items()
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
