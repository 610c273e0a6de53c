"""What in a study needs a researcher now: sentences, each with the page where it is dealt with."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta

from annotation.models import Study, StudyStatus
from annotation.monitoring.progress import Progress
from annotation.wording import in_words

QUIET = timedelta(hours=6)
# From so many verdicts on, most of them against, the rule may be wrong rather than the people.
FEWEST_SCREENED_OUT = 3


@dataclass(frozen=True)
class Need:
    """One thing to do. `name` tells it apart on the page; `address` is the name of the page."""

    name: str
    what: str
    detail: str
    action: str
    address: str
    warns: bool = False


def needs(study: Study, progress: Progress, now: datetime) -> list[Need]:
    """What the reader of this page may and should look at, most urgent first."""
    may = study.rights
    right = {"waiting": "see", "pay": "pay", "flags": "read"}
    listed = [*_waiting(study, progress, now), *_trouble(study, progress, now), *_due(progress)]
    return [need for need in listed if right.get(need.name, "see") in may]


def _waiting(study: Study, progress: Progress, now: datetime) -> Iterator[Need]:
    """Who goes on only when an owner says so."""
    if not progress.waiting:
        return
    number = len(progress.waiting)
    who = "1 person waits" if number == 1 else f"{number} people wait"
    whose = "your" if "own" in study.rights else "an owner's"
    oldest = min((each.since for each in progress.waiting if each.since), default=now)
    yield Need(
        "waiting",
        f"{who} for {whose} decision",
        f"The first since {oldest:%H:%M} UTC. Without a decision each continues after"
        f" {study.decision_minutes} minutes.",
        "Decide" if "own" in study.rights else "See who",
        "people",
        warns=True,
    )


def _trouble(study: Study, progress: Progress, now: datetime) -> Iterator[Need]:
    """Signs that something is wrong with the recruitment or the rule."""
    people = progress.people
    judged = people.screened_out + people.qualified
    if people.screened_out >= FEWEST_SCREENED_OUT and 2 * people.screened_out > judged:
        yield Need(
            "screened-out",
            f"{people.screened_out} of {judged} screened out",
            "Each was paid. The rule cannot be changed any more, but the study can be paused.",
            "Look at the rule",
            "study_design",
            warns=True,
        )
    free = sum(row.free for row in progress.seats)
    if study.status != StudyStatus.OPEN:
        return
    if not free and not people.at_work:
        yield Need(
            "full", "Every seat is taken", "Close the study, or add seats.", "Add seats", "lists"
        )
    latest = max(filter(None, (progress.pace.last_arrival, study.opened_at)), default=None)
    if free and latest and now - latest >= QUIET:
        hours = in_words(timedelta(hours=(now - latest) // timedelta(hours=1)))
        yield Need(
            "quiet",
            f"Nobody came for {hours.removesuffix(' 0 min')}",
            f"{free} seats are free.",
            "Recruit",
            "recruit",
            warns=True,
        )


def _due(progress: Progress) -> Iterator[Need]:
    """Money that is owed, and work that should be looked at."""
    if progress.money.due > 0:
        words = progress.money.in_words
        yield Need("pay", f"{words['due']} to pay", "Earned and not yet paid.", "Pay", "pay")
    flagged = progress.flagged
    if flagged.people:
        who = "1 person" if flagged.people == 1 else f"{flagged.people} people"
        yield Need("flags", f"{who} flagged", flagged.in_words, "Flags", "behaviour")
