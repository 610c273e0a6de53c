"""How fast a study fills: who completed on which day, and when the last seat may be taken."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import NamedTuple

from annotation.models import Kind, Status, Study

DAYS = 7


class Course(NamedTuple):
    """When a person came to which scenario, and when, how and after how much work they ended."""

    scenario: int
    status: str
    arrived_at: datetime
    finished_at: datetime | None
    worked_seconds: float | None


@dataclass(frozen=True)
class Pace:
    """People who completed on each of the last days (UTC, the last is today), and who came last.

    `per_day` is over these days, or those since the first person came; 0 where nobody completed.
    """

    days: tuple[tuple[date, int], ...]
    per_day: float
    last_arrival: datetime | None

    @property
    def bars(self) -> list[tuple[date, int, int, int]]:
        """(day, people, top and height of its bar in % of the best day's)."""
        most = max(1, *(count for _day, count in self.days))
        heights = [round(100 * count / most) for _day, count in self.days]
        pairs = zip(self.days, heights, strict=True)
        return [(day, count, 100 - height, height) for (day, count), height in pairs]

    def full_on(self, open_seats: int) -> date | None:
        """The day on which that many more people will have completed at this pace."""
        if not self.per_day or not open_seats:
            return None
        return self.days[-1][0] + timedelta(days=min(open_seats / self.per_day, 10_000))


def courses(study: Study) -> list[Course]:
    """Of all people of the study, in one query."""
    people = study.participations.filter(kind=Kind.PERSON).order_by()
    return [Course(*row) for row in people.values_list(*Course._fields)]


def measured(rows: Iterable[tuple[datetime, datetime | None, str]], now: datetime) -> Pace:
    """The pace of people given by when they came, when they finished, and how."""
    came, done = [], Counter[date]()
    for arrived_at, finished_at, status in rows:
        came.append(arrived_at)
        if status == Status.COMPLETED and finished_at:
            done[finished_at.date()] += 1
    today = now.date()
    days = [today - timedelta(days=back) for back in reversed(range(DAYS))]
    counts = tuple((day, done[day]) for day in days)
    # An arrival of later than now is one by another machine's clock.
    begun = min(today, max(days[0], min(came).date())) if came else today
    number = sum(count for _day, count in counts)
    return Pace(counts, number / ((today - begun).days + 1), max(came, default=None))
