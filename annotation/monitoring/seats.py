"""The seats of each scenario: completed, at work, free, and the time that they still take."""

import statistics
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import timedelta

from annotation.models import Kind, Scenario, Status, Study, StudyStatus
from annotation.monitoring.columns import SEATS
from annotation.monitoring.funnel import ROBOTS, Funnel
from annotation.monitoring.pace import Course
from annotation.wording import in_words
from tasks.clock import database_now


@dataclass(frozen=True)
class Seats:
    """The seats of one scenario: those of people by state, those of robots together.

    `open_seats` are still to be completed (free or at work) as long as the study gives out seats;
    each takes `seconds_each`, the median over `median_of` people, or the study's estimate (0).
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
        """As text, in the order of SEATS."""
        return [column.text(self) for column in SEATS]

    @property
    def seconds_left(self) -> float:
        return self.open_seats * self.seconds_each

    @property
    def time_left(self) -> str:
        """5 x 12 min (median of 3)."""
        if not self.open_seats:
            return "none"
        source = f"median of {self.median_of}" if self.median_of else "the study's estimate"
        return f"{self.open_seats} × {in_words(timedelta(seconds=self.seconds_each))} ({source})"


def for_scenarios(
    study: Study,
    scenarios: list[Scenario],
    funnels: Mapping[tuple[int, str], Funnel],
    courses: Iterable[Course],
) -> list[Seats]:
    """One row per scenario of the study, with the funnels by scenario and kind."""
    times = _times_of_completed(courses)
    left = _left(study)
    return [
        _seats(
            study,
            scenario,
            times[scenario.pk],
            funnels[scenario.pk, Kind.PERSON],
            funnels[scenario.pk, ROBOTS],
            left[scenario.pk],
        )
        for scenario in scenarios
    ]


def _times_of_completed(courses: Iterable[Course]) -> dict[int, list[float]]:
    """Scenario -> active seconds of each person who completed it."""
    times: dict[int, list[float]] = defaultdict(list)
    for course in courses:
        if course.status == Status.COMPLETED and course.worked_seconds is not None:
            times[course.scenario].append(course.worked_seconds)
    return times


def _left(study: Study) -> Counter[int]:
    """Scenario -> people who are idle for longer than they may be: their seats are free."""
    idle = study.participations.filter(kind=Kind.PERSON).idle(database_now(), study)
    return Counter(idle.order_by().values_list("scenario", flat=True))


def _seats(
    study: Study,
    scenario: Scenario,
    times: list[float],
    people: Funnel,
    robots: Funnel,
    left: int,
) -> Seats:
    # Who is live or analysed has a seat number, and nobody else does: the database says so.
    completed, working = people.analysed, people.at_work - left
    free = scenario.seats - completed - working
    return Seats(
        scenario=scenario,
        seats=scenario.seats,
        completed=completed,
        working=working,
        free=free,
        simulated=robots.analysed + robots.at_work,
        # A closed study gives out no seat again, but people at work may finish.
        open_seats=working + (0 if study.status == StudyStatus.CLOSED else free),
        seconds_each=statistics.median(times) if times else 60 * scenario.estimated_minutes,
        median_of=len(times),
        funnel=people,
    )
