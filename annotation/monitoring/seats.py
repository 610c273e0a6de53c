"""The seats of each scenario (completed, in use, free), and the work that remains."""

import statistics
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import Any

from annotation.models import Kind, Scenario, Status, Study
from annotation.models.participation import idle_limits
from annotation.monitoring.funnel import SIMULATED, Funnel
from annotation.web.wording import in_words
from tasks.columns import declared

DAYS = 7
MAX_DRAWN = 24  # larger scenarios show numbers only


@dataclass(frozen=True)
class Pace:
    """How many annotators completed on each recent day (UTC, up to today), and the last arrival.

    `per_day` is the mean over these days, or over those since the first arrival. It is 0 if no one
    has completed.
    """

    days: tuple[tuple[date, int], ...]
    per_day: float
    last_arrival: datetime | None

    @property
    def bars(self) -> list[tuple[date, int, int, int]]:
        """Return (day, annotators, top and height of the bar in % of the maximum)."""
        highest = max(1, *(count for _day, count in self.days))
        heights = [round(100 * count / highest) for _day, count in self.days]
        pairs = zip(self.days, heights, strict=True)
        return [(day, count, 100 - height, height) for (day, count), height in pairs]

    def full_on(self, open_seats: int) -> date | None:
        if not self.per_day or not open_seats:
            return None
        return self.days[-1][0] + timedelta(days=min(open_seats / self.per_day, 10_000))


def courses(study: Study) -> list[Any]:
    """Return the scenario, outcome, times and seconds of work for all human annotators."""
    people = study.participations.filter(kind=Kind.PERSON).order_by()
    names = "scenario", "status", "arrived_at", "finished_at", "worked_seconds"
    return list(people.values_list(*names, named=True))


def medians(courses: Iterable[Any]) -> dict[int, tuple[float, int]]:
    """Map scenarios to (median seconds of work, number) of their completed courses."""
    times: dict[int, list[float]] = defaultdict(list)
    for course in courses:
        if course.status == Status.COMPLETED and course.worked_seconds is not None:
            times[course.scenario].append(course.worked_seconds)
    return {scenario: (statistics.median(work), len(work)) for scenario, work in times.items()}


def measured(rows: Iterable[tuple[datetime, datetime | None, str]], now: datetime) -> Pace:
    """Compute the pace from rows of (arrival, end, status)."""
    arrivals, completions = [], Counter[date]()
    for arrived_at, finished_at, status in rows:
        arrivals.append(arrived_at)
        if status == Status.COMPLETED and finished_at:
            completions[finished_at.date()] += 1
    today = now.date()
    days = [today - timedelta(days=back) for back in reversed(range(DAYS))]
    counts = tuple((day, completions[day]) for day in days)
    # The clock of another machine may be ahead, so arrivals can be in the future.
    first_day = min(today, max(days[0], min(arrivals).date())) if arrivals else today
    number = sum(count for _day, count in counts)
    return Pace(counts, number / ((today - first_day).days + 1), max(arrivals, default=None))


SEATS = declared(__file__, "seats", split=lambda row: row.scenario.split_number or "–")


@dataclass(frozen=True)
class Seats:
    """The seats of a scenario by state, for human and simulated annotators.

    `open_seats` (free or in use) have yet to be completed while the study assigns seats. Each takes
    `seconds_each`: the median over `median_of` annotators or, if that is 0, the study's estimate.
    """

    scenario: Scenario
    seats: int
    completed: int
    working: int
    free: int
    simulated: int
    open_seats: int
    seconds_each: float
    median_of: int
    funnel: Funnel

    @property
    def cells(self) -> list[str]:
        return [column.text(self) for column in SEATS]

    @property
    def states(self) -> list[str]:
        """Return done, working or free for each seat, or [] if there are too many to draw."""
        states = ["done"] * self.completed + ["working"] * self.working + ["free"] * self.free
        return states if len(states) <= MAX_DRAWN else []

    @property
    def seconds_left(self) -> float:
        return self.open_seats * self.seconds_each

    @property
    def time_left(self) -> str:
        """Format the remaining work, for example as "5 x 12 min (median of 3)"."""
        if not self.open_seats:
            return "none"
        source = f"median of {self.median_of}" if self.median_of else "the study's estimate"
        return f"{self.open_seats} × {in_words(timedelta(seconds=self.seconds_each))} ({source})"


def for_scenarios(
    study: Study,
    scenarios: list[Scenario],
    funnels: Mapping[tuple[int, str], Funnel],
    medians: Mapping[int, tuple[float, int]],
    live: Iterable[Any],
    now: datetime,
) -> list[Seats]:
    """Return one row per scenario. `funnels` is keyed by scenario and kind."""
    # Seats of annotators who have been idle for longer than the limit count as free.
    limits = idle_limits(study)
    idle_seats = Counter(
        row.scenario_id
        for row in live
        if row.kind == Kind.PERSON and row.last_step_at < now - limits[row.status]
    )
    rows = []
    for scenario in scenarios:
        people, simulated = funnels[scenario.pk, Kind.PERSON], funnels[scenario.pk, SIMULATED]
        # A constraint ensures that only active and analysed annotators have seat numbers.
        completed, working = people.analysed, people.at_work - idle_seats[scenario.pk]
        free = scenario.seats - completed - working
        seconds, median_of = medians.get(scenario.pk, (60 * scenario.estimated_minutes, 0))
        rows.append(
            Seats(
                scenario=scenario,
                seats=scenario.seats,
                completed=completed,
                working=working,
                free=free,
                simulated=simulated.analysed + simulated.at_work,
                # A closed study does not assign seats any more, but annotators at work may finish.
                open_seats=working + (0 if study.is_closed else free),
                seconds_each=seconds,
                median_of=median_of,
                funnel=people,
            )
        )
    return rows
