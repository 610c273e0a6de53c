"""Quality flags for possibly careless work, which never have automatic consequences.

Each flag can be recomputed from the exported CSV. Thresholds: docs/statistics.md#quality-flags.
"""

import math
import tomllib
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from django.db.models import Count, QuerySet

from annotation.models import Kind, Participation, Study
from annotation.protocol import qualification
from annotation.protocol.activity_summary import (
    Summary,
    answers_by_participation,
    for_participation,
    summarise,
)

SHARE = 0.05  # of the answers, so that occasional slips are tolerated
MODAL_SHARE = 0.9  # used only with at least FEWEST answers
FEWEST = 10
LONGEST_RUN = 15  # identical answers in a row
ABSENCE = 3600  # seconds
BLURS_PER_ANSWER = 0.2
FAST_PERSON_SDS = 3  # below the mean log-median of at least OTHERS other annotators
OTHERS = 5

_TABLES = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
# Maps the names of flags to their labels in counts.
FLAGS = {name: table["label"] for name, table in _TABLES.items()}
# For each report: the share of answers from which it is flagged, and the finding with its count.
FLAGGED_REPORTS = {
    name: (table.get("share", SHARE), table["finding"])
    for name, table in _TABLES.items()
    if "finding" in table
}


class Pace(NamedTuple):
    """The log median seconds of n annotators, as their mean and the sum of squared deviations."""

    n: int = 0
    mean: float = 0
    squares: float = 0

    def plus(self, seconds: float, sign: int = 1) -> "Pace":
        """Return the pace after adding an annotator's median (> 0), or removing it (sign -1)."""
        n, log = self.n + sign, math.log(seconds)
        mean = self.mean + sign * (log - self.mean) / n if n else 0
        return Pace(n, mean, self.squares + sign * (log - self.mean) * (log - mean))


NO_PACE = Pace()


def flags(
    work: Summary, group_pace: Pace = NO_PACE, shares_browser: bool = False
) -> dict[str, str]:
    """Map flags to their findings. `group_pace` is the pace of all others in the group."""
    raised = {}
    if work.n and work.too_fast >= SHARE * work.n and work.too_fast:
        raised["too_fast"] = f"{work.too_fast} of {work.n} answers were too fast to have been read"
    if is_fast_person(work.median_seconds, group_pace):
        raised["fast_person"] = (
            f"median {work.median_seconds:.1f} s, more than {FAST_PERSON_SDS} SDs (on a log scale)"
            f" faster than {group_pace.n} others"
        )
    enough = work.n - work.checks >= FEWEST
    if work.modal_share is not None and enough and work.modal_share >= MODAL_SHARE:
        raised["one_answer"] = f"the same answer in {100 * work.modal_share:.0f} % of the examples"
    if work.longest_run >= LONGEST_RUN:
        raised["run"] = f"the same answer {work.longest_run} times in a row"
    if work.longest_absence > ABSENCE:
        raised["absence"] = f"away for {work.longest_absence / 60:.0f} minutes without interruption"
    if work.pastes:
        raised["paste"] = f"text was pasted {work.pastes} times"
    if work.blurs > BLURS_PER_ANSWER * work.n:
        raised["blur"] = (
            f"the page was left {work.blurs} times,"
            f" for {work.away_seconds / 60:.0f} minutes in total"
        )
    for name, (share, finding) in FLAGGED_REPORTS.items():
        count = getattr(work, name)
        if count and count >= share * work.n:
            raised[name] = finding.format(count)
    if missed := work.checks - work.checks_passed:
        raised["checks"] = f"{missed} of {work.checks} attention checks failed"
    if shares_browser:
        raised["shared_browser"] = "the same browser was also used under another id"
    return raised


def behaviour_in_words(person: Participation) -> str:
    """Return counts of answers, checks and browser reports as text, or "" if all are missing."""
    work = (
        Summary(**person.activity_summary) if person.activity_summary else for_participation(person)
    )
    if not work.n:
        return ""
    read = f"{work.n - work.too_fast} of {work.n} answers took long enough to read the example"
    counted = [read] if person.kind == Kind.PERSON else []
    if work.checks:
        counted.append(f"{work.checks_passed} of {work.checks} attention checks were passed")
    counts = {"times the page was left: {}": work.blurs, "pastes: {}": work.pastes}
    counts |= {finding: getattr(work, name) for name, (_share, finding) in FLAGGED_REPORTS.items()}
    reported = [finding.format(count) for finding, count in counts.items() if count]
    counted = [f"{'; '.join(counted)}."] if counted else []
    return " ".join([*counted, f"Reported by the browser: {'; '.join(reported) or 'nothing'}."])


def is_fast_person(median: float | None, group_pace: Pace) -> bool:
    """Return whether the median time is far below that of the others, on a log scale."""
    if not median or group_pace.n < OTHERS:
        return False
    spread = math.sqrt(max(group_pace.squares, 0) / (group_pace.n - 1))
    return math.log(median) < group_pace.mean - FAST_PERSON_SDS * spread


@dataclass(frozen=True)
class Flagged:
    """How many annotators completed: in total, with any flag, and with each of the flags."""

    completed: int
    people: int
    by_flag: list[tuple[str, int]]


def for_completed(study: Study) -> Flagged:
    """Count the flags of annotators who completed, comparing them within their scenario."""
    completed = study.participations.filter(kind=Kind.PERSON, activity_summary__isnull=False)
    people = {person.pk: person for person in _rows(completed)}
    flagged = _flagged(people, {}, _shared_browsers(study)).values()
    counts = Counter(name for _work, findings in flagged for name in findings)
    return Flagged(
        completed=len(people),
        people=sum(bool(findings) for _work, findings in flagged),
        by_flag=[(label, counts[name]) for name, label in FLAGS.items() if counts[name]],
    )


def for_study(
    study: Study, scenarios: Collection[int] | None = None
) -> dict[int, tuple[Summary, dict[str, str]]]:
    """Map annotators (keys) to activity and flags, if they have answered an example.

    `scenarios` contains the primary keys of the scenarios to include (all by default). Answers are
    loaded only for annotators without a stored summary of their activity.
    """
    filters = {} if scenarios is None else {"scenario__in": scenarios}
    people = {person.pk: person for person in _rows(study.participations.filter(**filters))}
    unfinished = [pk for pk, person in people.items() if person.activity_summary is None]
    computed = {pk: summarise(answers) for pk, answers in answers_by_participation(unfinished)}
    return _flagged(people, computed, _shared_browsers(study))


def by_name(study: Study, scenarios: Collection[int] | None = None) -> dict[int, dict[str, str]]:
    """Map annotators (keys) to findings by flag, including those who would now be screened out."""
    found = {pk: findings for pk, (_work, findings) in for_study(study, scenarios).items()}
    for pk, reason in qualification.flagged_again(study).items():
        found[pk] = found.get(pk, {}) | {"screened_out": reason}
    return found


def findings_of(participation: Participation) -> list[str]:
    found = by_name(participation.study, [participation.scenario_id])
    return [*found.get(participation.pk, {}).values()]


def _rows(people: QuerySet) -> Iterable[Any]:
    """Return the columns required for flags as named tuples, which are faster than models."""
    names = "pk", "scenario_id", "kind", "browser", "activity_summary"
    return people.order_by().values_list(*names, named=True)


def _flagged(
    people: dict[int, Any], computed: dict[int, Summary], shared_browsers: set[str]
) -> dict[int, tuple[Summary, dict[str, str]]]:
    """Return the activity (stored or computed) and flags of each annotator."""
    by_pk = {
        pk: Summary(**person.activity_summary)
        for pk, person in people.items()
        if person.activity_summary
    } | computed
    paces: dict[tuple[int, str], Pace] = defaultdict(Pace)
    for pk, work in by_pk.items():
        if work.median_seconds:
            group = people[pk].scenario_id, people[pk].kind
            paces[group] = paces[group].plus(work.median_seconds)

    flagged = {}
    for pk, work in by_pk.items():
        person, median = people[pk], work.median_seconds
        pace = paces[person.scenario_id, person.kind]
        group_pace = pace.plus(median, -1) if median else pace
        is_person = person.kind == Kind.PERSON  # only people read; programs are always fast
        judged = work if is_person else work._replace(too_fast=0, median_seconds=None)
        flagged[pk] = work, flags(judged, group_pace, person.browser in shared_browsers)
    return flagged


def _shared_browsers(study: Study) -> set[str]:
    participations = study.participations.exclude(browser="").order_by().values("browser")
    counts = participations.annotate(workers=Count("worker", distinct=True))
    return set(counts.filter(workers__gt=1).values_list("browser", flat=True))
