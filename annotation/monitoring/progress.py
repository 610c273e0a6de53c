"""How far a study is: seats, the way from arrival to analysis, who works now, time and money.

Everything is counted in the database, in a number of queries that depends neither on how many
people take part nor on how many answers there are; no answer is loaded.
"""

import hashlib
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import ClassVar

from django.db.models import Q

from annotation.models import Kind, ParticipationQuerySet, Status, Study, StudyStatus
from annotation.monitoring import at_work, flags, pace, seats
from annotation.monitoring.at_work import AtWork
from annotation.monitoring.columns import FACTS, FUNNEL, SEATS
from annotation.monitoring.costs import Money, money
from annotation.monitoring.funnel import ROBOTS, Funnel, by_scenario_and_kind, with_training_size
from annotation.monitoring.grid import Grid, grid
from annotation.monitoring.pace import Pace
from annotation.monitoring.seats import Seats
from annotation.steps import exclusion
from annotation.wording import in_words
from tasks.clock import database_now

STAGES = ("arrived", "consented", "trained", "qualified", "completed", "analysed")
EXITS = (
    "at_work", "declined", "screened_out", "returned", "expired", "refused", "withdrawn",
    "rejected",
)  # fmt: skip


@dataclass(frozen=True)
class Waiting:
    """Somebody who waits for a researcher's decision after the training step."""

    pseudonym: str
    scenario: str
    since: datetime | None


@dataclass(frozen=True)
class Progress:
    """The progress of a study, which its page refreshes every few seconds."""

    status: str
    seats: list[Seats]
    simulated: Funnel
    at_work: list[AtWork]
    at_work_count: int
    waiting: list[Waiting]
    rejected: list[str]  # pseudonyms of exclusion.rejected_elsewhere
    money: Money
    flagged: flags.Flagged
    pace: Pace

    facts: ClassVar = FACTS
    seat_columns: ClassVar = SEATS
    funnel_columns: ClassVar = FUNNEL

    @property
    def people(self) -> Funnel:
        return sum((row.funnel for row in self.seats), Funnel())

    @property
    def completed(self) -> int:
        return sum(row.completed for row in self.seats)

    @property
    def all_seats(self) -> int:
        return sum(row.seats for row in self.seats)

    @property
    def time_left(self) -> str:
        return in_words(timedelta(seconds=sum(row.seconds_left for row in self.seats)))

    @property
    def free(self) -> int:
        return sum(row.free for row in self.seats)

    @property
    def working(self) -> int:
        return sum(row.working for row in self.seats)

    @property
    def full_on(self) -> date | None:
        """The day on which the last seat is completed, at the pace of the last days.

        A closed study does not fill.
        """
        if self.status == StudyStatus.CLOSED:
            return None
        return self.pace.full_on(sum(row.open_seats for row in self.seats))

    @property
    def grid(self) -> Grid:
        return grid(self.seats)

    @property
    def stages(self) -> list[tuple[str, int, float]]:
        """The funnel as a picture: (stage, people, their share of who arrived in %)."""
        people = self.people
        counts = {stage: getattr(people, stage) for stage in STAGES}
        whole = max(people.arrived, 1)
        return [
            (stage.capitalize(), number, round(100 * number / whole, 1))
            for stage, number in counts.items()
        ]

    @property
    def exits(self) -> list[tuple[str, int]]:
        """How those ended who did not complete, and how many are at work yet: not zero alone."""
        named = {column.name: column.heading.lower() for column in FUNNEL} | {"at_work": "at work"}
        counts = [(named[name], getattr(self.people, name)) for name in EXITS]
        return [(words, number) for words, number in counts if number]

    @property
    def more_at_work(self) -> int:
        return self.at_work_count - len(self.at_work)

    @property
    def is_moving(self) -> bool:
        """Can anything here still change by what annotators do?"""
        live = self.people.at_work + self.simulated.at_work
        return self.status in (StudyStatus.OPEN, StudyStatus.PAUSED) or live > 0

    @property
    def version(self) -> str:
        """Differs exactly when something else would be shown."""
        return hashlib.sha256(repr(self).encode()).hexdigest()[:16]


def for_study(study: Study) -> Progress:
    """Everything at once, in nine queries."""
    scenarios = list(with_training_size(study))
    funnels = by_scenario_and_kind(study, scenarios)
    courses = pace.courses(study)
    rows = seats.for_scenarios(study, scenarios, funnels, courses)
    now = database_now()
    undecided = list(_undecided(study))
    active = study.participations.at_work(now).filter(kind=Kind.PERSON)
    latest = at_work.latest(active)
    return Progress(
        status=study.status,
        seats=rows,
        simulated=sum((funnels[each.pk, ROBOTS] for each in scenarios), Funnel()),
        at_work=latest,
        at_work_count=active.count() if len(latest) == at_work.SHOWN_AT_WORK else len(latest),
        waiting=[
            Waiting(each.pseudonym, str(each.scenario), each.waiting_since)
            for each in undecided
            if each.status == Status.WAITING
        ],
        rejected=sorted(each.pseudonym for each in undecided if each.status != Status.WAITING),
        money=money(study, [(row.open_seats, row.scenario.estimated_minutes) for row in rows]),
        flagged=flags.for_completed(study),
        pace=pace.measured(
            ((each.arrived_at, each.finished_at, each.status) for each in courses), now
        ),
    )


def _undecided(study: Study) -> ParticipationQuerySet:
    """Who waits after the training step, and whose completed work was rejected on a platform."""
    rejected = exclusion.rejected_elsewhere(study).order_by().values("pk")
    people = study.participations.filter(Q(status=Status.WAITING) | Q(pk__in=rejected))
    people = people.select_related("scenario__task").order_by("waiting_since")
    return people.only(
        "pseudonym", "status", "waiting_since", "scenario__shots", "scenario__task__name"
    )
