"""Overview of a researcher's studies (status, seats, annotators at work) and of a study's money."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any

from django.db.models import Count, F, Max, OuterRef, Q, QuerySet, Subquery, Sum
from django.db.models.functions import Coalesce

from annotation.models import (
    ANALYSED,
    AT_WORK_WITHIN,
    LIVE,
    Kind,
    LedgerEntry,
    Participation,
    PaymentBatch,
    Scenario,
    Status,
    Study,
    StudyStatus,
)
from annotation.pay import ledger
from tasks.clock import database_now
from tasks.columns import declared


@dataclass
class Summary:
    """A study in the list. `add_counts` fills in its annotators and money.

    Results are left out, because a mean over tasks and shot counts would not be meaningful.
    """

    study: Study
    seats: int
    money: "Money"
    completed: int = 0
    at_work_count: int = 0
    waiting: int = 0
    last_active_at: datetime | None = None

    @property
    def shows_money(self) -> bool:
        return "pay" in self.study.rights


COLUMNS = declared(
    __file__, "studies",
    status=lambda row: row.study.get_status_display(),
    earned=lambda row: row.money.earned if row.shows_money else None,
    due=lambda row: row.money.due if row.shows_money else None,
)  # fmt: skip

# Maps each filter of the list to (label, condition).
FILTERS = {
    status.value: (status.label.capitalize(), lambda row, status=status: row.study.status == status)
    for status in StudyStatus
} | {"deleted": ("Deleted", None)}  # a separate view: privacy/pages.py


def text(row: Summary) -> str:
    return f"{row.study.title} {row.study.name} {row.study.owner}"


def for_studies(studies: QuerySet[Study]) -> list[Summary]:
    names = "name", "title", "status", "currency", "archived_at", "rehearsal", "owner__username"
    scenarios = Scenario.objects.filter(study=OuterRef("pk")).order_by().values("study")
    seats = Subquery(scenarios.annotate(seats=Sum("seats")).values("seats"))
    studies = studies.select_related("owner").only(*names).annotate(all_seats=Coalesce(seats, 0))
    return [Summary(study, study.all_seats, Money(study.currency)) for study in studies]


def is_counted(sort: str) -> bool:
    """Return whether this order of the list, such as "-due", depends on what is counted."""
    return sort.removeprefix("-") not in ("", "study", "name", "status", "seats")


def add_counts(rows: Iterable[Summary]) -> None:
    """Count the annotators and money of these studies."""
    by_study = {row.study.pk: row for row in rows}
    is_active = Q(kind=Kind.PERSON, status__in=LIVE)
    is_active &= Q(last_active_at__gte=database_now() - AT_WORK_WITHIN)
    participations = Participation.objects.filter(study__in=by_study).with_last_active()
    counted: Iterable[Any] = (
        participations.order_by()
        .values("study")
        .annotate(
            completed=Count("pk", filter=ANALYSED & Q(kind=Kind.PERSON)),
            at_work_count=Count("pk", filter=is_active),
            waiting=Count("pk", filter=Q(status=Status.WAITING)),
            last_active_at=Max("last_active_at"),
        )
    )
    for counts in counted:
        vars(by_study[counts.pop("study")]).update(counts)
    entries = LedgerEntry.objects.filter(
        participation__study__in=by_study, participation__kind=Kind.PERSON
    )
    by_status = entries.order_by().values(study=F("participation__study"))
    sums: Iterable[Any] = by_status.annotate(**sums_by_status())
    for amounts in sums:
        row = by_study[amounts.pop("study")]
        row.money = Money(row.study.currency, **amounts)


@dataclass(frozen=True)
class Money:
    """Amounts in cents for human annotators. `due` has been earned, but not paid or held back.

    `promised` is the minimum cost of the open seats. It is 0 in the list of studies.
    """

    currency: str
    earned: int = 0
    paid: int = 0
    held_back: int = 0
    promised: int = 0

    @property
    def due(self) -> int:
        return self.earned - self.paid - self.held_back

    @property
    def in_words(self) -> dict[str, str]:
        names = ("earned", "paid", "held_back", "due", "promised")
        amounts = {name: getattr(self, name) for name in names}
        amounts["committed"] = self.due + self.promised
        return {name: f"{ledger.in_currency(n)} {self.currency}" for name, n in amounts.items()}

    def bar(
        self, budget: Decimal | None, is_closed: bool
    ) -> list[tuple[str, str, str, float, float]]:
        """Return the segments of a bar chart, as percentages of the budget or of their sum.

        Each segment is (name, description, amount, start in %, width in %). A closed study no
        longer assigns seats, but annotators who have already started may finish.
        """
        total = self.earned - self.held_back + self.promised
        limit = max(total, ledger.cents(budget or Decimal(0)), 1)
        parts = [("paid", "Paid", self.paid), ("due", "To pay", self.due)]
        if not is_closed or self.promised:
            seats = "Seats in progress" if is_closed else "Open seats"
            parts.append(("open", f"{seats} (minimum)", self.promised))
        if budget is not None:
            parts.append(("left", "Remaining budget", ledger.cents(budget) - total))
        start, bars = 0.0, []
        for name, label, amount in parts:
            width = round(100 * max(amount, 0) / limit, 2)
            bars.append((name, label, ledger.in_currency(amount), start, width))
            start = round(start + width, 2)
        return bars


def money(study: Study, sums: dict[str, int], open_seats: Iterable[tuple[int, int]]) -> Money:
    """Return the amounts of a study. `open_seats` contains (number of seats, minutes for each)."""
    base_reward = ledger.cents(study.base_reward)
    promised = sum(
        number * max(base_reward, ledger.for_time(study, timedelta(minutes=minutes)))
        for number, minutes in open_seats
    )
    return Money(study.currency, **sums, promised=promised)


def sums_by_status() -> dict[str, Sum]:
    """Return aggregates that sum ledger entries in cents by payment status."""
    is_held_back = Q(participation__is_paid=False, payment__isnull=True)
    is_paid = Q(payment__batch__state=PaymentBatch.State.PAID)
    return {
        "earned": Sum("cents", default=0),
        "paid": Sum("cents", filter=is_paid, default=0),
        "held_back": Sum("cents", filter=is_held_back, default=0),
    }
