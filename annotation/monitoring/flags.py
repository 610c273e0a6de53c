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

from annotation.models import Kind, Participation, Study
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
    found: Signs, others: Sequence[float] = (), shares_browser: bool = False
) -> dict[str, str]:
    """Name of each flag -> what was seen; `others` are the others' medians (s) in the group."""
    said = {}
    if found.n and found.too_fast >= SHARE_TOO_FAST * found.n and found.too_fast:
        said["too_fast"] = f"{found.too_fast} of {found.n} answers were too fast to have been read"
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
        said["paste"] = f"text was pasted {found.pastes} times"
    if found.blurs > BLURS_PER_ANSWER * found.n:
        said["blur"] = (
            f"the page was left {found.blurs} times,"
            f" for {found.away_seconds / 60:.0f} minutes in total"
        )
    if found.checks_passed < found.checks:
        missed = found.checks - found.checks_passed
        said["checks"] = f"{missed} of {found.checks} attention checks failed"
    if shares_browser:
        said["shared_browser"] = "the same browser was also used under another id"
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

    @property
    def in_words(self) -> str:
        """too fast 3, shared browser 2."""
        return ", ".join(f"{words} {count}" for words, count in self.by_flag)


def for_completed(study: Study) -> Flagged:
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


def for_study(study: Study, scenario: int | None = None) -> dict[int, tuple[Signs, dict[str, str]]]:
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
    people = people.defer("training_order", "annotation_order")
    flagged = [(person, seen[person.pk]) for person in people if seen.get(person.pk)]
    return sorted(flagged, key=lambda pair: -len(pair[1]))


def _flagged(
    people: dict[int, Participation], read: dict[int, Signs], shared_browsers: set[str]
) -> dict[int, tuple[Signs, dict[str, str]]]:
    """Participation -> its signs (stored or computed now) and flags, if it has any."""
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
