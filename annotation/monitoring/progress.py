"""A study's progress: seats, funnel, annotators at work, time and money.

Everything is counted by the database, without loading any answers. The number of queries does not
depend on the number of annotators or answers.
"""

import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from functools import cached_property
from typing import Any, ClassVar

from django.core.cache import caches
from django.db.models import Count, Max, OuterRef, Subquery

from annotation.models import (
    AT_WORK_WITHIN,
    ORDERS,
    Kind,
    LedgerEntry,
    Participation,
    Status,
    Step,
    Study,
    StudyStatus,
    Turn,
)
from annotation.monitoring import flags, seats
from annotation.monitoring.funnel import (
    FUNNEL,
    SIMULATED,
    Funnel,
    by_scenario_and_kind,
    with_training_size,
)
from annotation.monitoring.overview import Money, money, sums_by_status
from annotation.monitoring.seats import SEATS, Pace, Seats
from annotation.pay import ledger
from annotation.protocol import exclusion
from annotation.web.wording import in_words
from tasks.cards import place_in_results
from tasks.clock import database_now

SHOWN_AT_WORK = 20
STAGES = ("arrived", "consented", "trained", "qualified", "completed", "analysed")
EXITS = (
    "at_work", "declined", "screened_out", "returned", "expired", "refused", "withdrawn",
    "rejected",
)  # fmt: skip


@dataclass(frozen=True)
class Grid:
    """A table of seats. `rows` contains (task, seats), where None marks missing scenarios."""

    columns: list[str]
    rows: list[tuple[str, list[Seats | None]]]


@dataclass(frozen=True)
class AtWork:
    """An annotator who has been active within AT_WORK_WITHIN, and where they are."""

    pseudonym: str
    scenario: str
    place: str
    last_active_at: datetime


@dataclass(frozen=True)
class Waiting:
    pseudonym: str
    scenario: str
    since: datetime | None


def _total(name: str) -> Any:
    return property(lambda progress: sum(getattr(row, name) for row in progress.seats))


@dataclass(frozen=True)
class Progress:
    status: str
    seats: list[Seats]
    simulated: Funnel
    at_work: list[AtWork]
    at_work_count: int
    waiting: list[Waiting]
    rejected: list[str]  # pseudonyms; see exclusion.rejected_elsewhere
    money: Money
    flagged: flags.Flagged
    pace: Pace
    wage: float | None  # see ledger.median_wage_of

    seat_columns: ClassVar = SEATS
    funnel_columns: ClassVar = FUNNEL

    @cached_property
    def people(self) -> Funnel:
        return sum((row.funnel for row in self.seats), Funnel())

    completed, all_seats, free, working = map(_total, ("completed", "seats", "free", "working"))

    @property
    def time_left(self) -> str:
        return in_words(timedelta(seconds=sum(row.seconds_left for row in self.seats)))

    @property
    def full_on(self) -> date | None:
        """Estimate when the last seat will be completed at the current pace. None if closed."""
        if self.status == StudyStatus.CLOSED:
            return None
        return self.pace.full_on(sum(row.open_seats for row in self.seats))

    @property
    def in_results_order(self) -> list[Seats]:
        """Return the seats in the order of the results: by family of task, as in CLUES."""
        rows: list[Any] = self.seats  # their scenarios have a family, see with_training_size
        return sorted(rows, key=lambda r: place_in_results(r.scenario.family, r.scenario.task.name))

    @cached_property
    def grid(self) -> Grid:
        columns: dict[tuple, str] = {}
        cells: dict[str, dict[tuple, Seats]] = {}
        for row in self.in_results_order:
            scenario = row.scenario
            key = (scenario.shots, scenario.split_number, scenario.arm)
            task, _comma, label = str(scenario).partition(", ")
            columns[key] = label
            cells.setdefault(task, {})[key] = row
        keys = sorted(columns, key=lambda key: (key[0], key[1] or 0))
        rows = [(task, [of_task.get(key) for key in keys]) for task, of_task in cells.items()]
        return Grid([columns[key] for key in keys], rows)

    @property
    def stages(self) -> list[tuple[str, int, float]]:
        """Return the funnel as (stage, annotators, % of arrivals) for a chart."""
        arrivals = max(self.people.arrived, 1)
        counts = ((stage, getattr(self.people, stage)) for stage in STAGES)
        return [(stage.capitalize(), n, round(100 * n / arrivals, 1)) for stage, n in counts]

    @property
    def exits(self) -> list[tuple[str, int]]:
        """Return nonzero counts by outcome for those at work and those who ended early."""
        labels = {column.name: column.heading.lower() for column in FUNNEL}
        counts = [(labels[name], getattr(self.people, name)) for name in EXITS]
        return [(label, number) for label, number in counts if number]

    @property
    def more_at_work(self) -> int:
        return self.at_work_count - len(self.at_work)

    @property
    def is_moving(self) -> bool:
        live = self.people.at_work + self.simulated.at_work
        return self.status in (StudyStatus.OPEN, StudyStatus.PAUSED) or live > 0

    @cached_property
    def version(self) -> str:
        """Return a hash that changes if and only if the page does."""
        return _hash(self)[:16]


def _hash(facts: object) -> str:
    return hashlib.sha256(repr(facts).encode()).hexdigest()


@dataclass(frozen=True)
class Facts:
    """What a poll reads to detect changes: active annotators, endings and the time."""

    live: list[Any]
    endings: list[Any]
    now: datetime

    @property
    def stamp(self) -> str:
        """Return a hash that changes with any activity, ending or log entry, and every minute."""
        latest = max((row.last_active_at for row in self.live), default=None)
        return _hash([f"{self.now:%H:%M}", self.endings, len(self.live), latest])


def facts(study: Study) -> Facts:
    return Facts(list(_live(study)), _endings(study), database_now())


def for_study(study: Study, known: Facts | None = None) -> Progress:
    known, scenarios = known or facts(study), list(with_training_size(study))
    names = {row.pk: str(row) for row in scenarios}
    entries = LedgerEntry.objects.filter(
        participation__study=study, participation__kind=Kind.PERSON
    )
    sums = entries.aggregate(**sums_by_status(), last=Max("pk"))
    funnels, medians, pace, flagged, wage = _cached(study, scenarios, known, sums.pop("last"))
    rows = seats.for_scenarios(study, scenarios, funnels, medians, known.live, known.now)
    open_seats = [(row.open_seats, row.scenario.estimated_minutes) for row in rows]
    people = [row for row in known.live if row.kind == Kind.PERSON]
    active = [row for row in people if row.last_active_at >= known.now - AT_WORK_WITHIN]
    active.sort(key=lambda row: (row.last_active_at, row.pk), reverse=True)
    waiting = [row for row in known.live if row.status == Status.WAITING]
    waiting.sort(key=lambda row: (row.waiting_since is not None, row.waiting_since))
    rejected = exclusion.rejected_elsewhere(study).order_by()
    return Progress(
        status=study.status,
        seats=rows,
        simulated=sum((funnels[row.pk, SIMULATED] for row in scenarios), Funnel()),
        at_work=list(_at_work(active[:SHOWN_AT_WORK], names)),
        at_work_count=len(active),
        waiting=[
            Waiting(row.pseudonym, names[row.scenario_id], row.waiting_since) for row in waiting
        ],
        rejected=sorted(rejected.values_list("pseudonym", flat=True)),
        money=money(study, sums, open_seats),
        flagged=flagged,
        pace=pace,
        wage=wage,
    )


def _live(study: Study) -> Iterable[Any]:
    """Return the state and latest turn of each active annotator, in a single query."""
    turns = Turn.objects.filter(participation=OuterRef("pk")).order_by("-pk")
    of_turn = {name: Subquery(turns.values(name)[:1]) for name in ("step", "position", "answer")}
    live = study.participations.live().with_last_active().with_last_step().annotate(**of_turn)
    names = "pk", "scenario_id", "kind", "status", "pseudonym", "waiting_since"
    times = "last_active_at", "last_step_at"
    return live.order_by("pk").values_list(*names, *times, *of_turn, named=True)


def _cached(
    study: Study, scenarios: list[Any], known: Facts, last_entry: int | None
) -> tuple[Any, ...]:
    """Return, from a cache, what only stages, endings, decisions or the ledger can change."""

    def compute() -> tuple[Any, ...]:
        courses = seats.courses(study)
        arrivals = ((row.arrived_at, row.finished_at, row.status) for row in courses)
        return (
            by_scenario_and_kind(study, scenarios),
            seats.medians(courses),
            seats.measured(arrivals, known.now),
            flags.for_completed(study),
            ledger.median_wage_of(study),
        )

    sizes = {row.pk: row.training_size for row in scenarios}
    stages = [
        (row.pk, row.step, row.answer is not None and row.position + 1 == sizes[row.scenario_id])
        for row in known.live
    ]
    extras = [row.declined for row in scenarios], last_entry
    key = _hash([known.now.date(), known.endings, stages, extras])
    return caches["process"].get_or_set(key, compute, 3600)  # type: ignore[return-value]


def _endings(study: Study) -> list[Any]:
    """Return values that change with every arrival, ending, decision and log entry."""
    names = "consented", "finished", "decided", "returned"
    people = study.participations.order_by("status", "in_analysis")
    groups = people.values_list("status", "in_analysis")
    stored = (Count(name) for name in ("pk", "worked_seconds"))
    counts = groups.annotate(*stored, *(Max(f"{name}_at") for name in names))
    last_entry = study.events.order_by().aggregate(Max("pk"))
    return [study.pk, study.status, list(counts), last_entry]


def _at_work(active: list[Any], names: dict[int, str]) -> Iterator[AtWork]:
    """Yield where each of these annotators is, reading nothing but their example orders."""
    people = Participation.objects.order_by().only(*ORDERS).in_bulk([row.pk for row in active])
    for row in active:
        if row.step is None:
            place = "consent" if row.status == Status.ARRIVED else "instructions"
        elif row.status in (Status.WAITING, Status.BETWEEN):
            place = str(Status(row.status).label)
        else:
            # Attention checks are positions of the annotation order.
            step = Step.ANNOTATION if row.step == Step.CHECK else Step(row.step)
            place = f"{step.label}, {row.position + 1} of {len(people[row.pk].order_of(step))}"
        yield AtWork(row.pseudonym, names[row.scenario_id], place, row.last_active_at)
