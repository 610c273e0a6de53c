"""Amounts of money in a study: earned, paid, held back, due and promised."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import timedelta
from decimal import Decimal

from django.db.models import Q, QuerySet, Sum

from annotation.models import Kind, LedgerEntry, PaymentBatch, Study
from annotation.pay import ledger


@dataclass(frozen=True)
class Money:
    """Amounts in cents for human annotators. `due` is what was earned but not paid or held back.

    `promised` is the minimum cost of the open seats.
    """

    earned: int
    paid: int
    held_back: int
    promised: int
    currency: str

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
        """Return the parts of a bar chart, as percentages of the budget or of their sum.

        Each part is (name, description, amount, start in %, width in %). A closed study no longer
        assigns seats, but annotators who have already started may finish.
        """
        whole = self.earned - self.held_back + self.promised
        limit = max(whole, ledger.cents(budget or Decimal(0)), 1)
        parts = [("paid", "Paid", self.paid), ("due", "To pay", self.due)]
        if not is_closed or self.promised:
            seats = "Seats in progress" if is_closed else "Open seats"
            parts.append(("open", f"{seats} (minimum)", self.promised))
        if budget is not None:
            parts.append(("left", "Remaining budget", ledger.cents(budget) - whole))
        start, bars = 0.0, []
        for name, words, amount in parts:
            width = round(100 * max(amount, 0) / limit, 2)
            bars.append((name, words, ledger.in_currency(amount), start, width))
            start = round(start + width, 2)
        return bars


def money(study: Study, open_seats: Iterable[tuple[int, int]]) -> Money:
    """Return a study's amounts. `open_seats` contains (number of seats, minutes for each)."""
    least = ledger.cents(study.base_reward)
    promised = sum(
        number * max(least, ledger.for_time(study, timedelta(minutes=minutes)))
        for number, minutes in open_seats
    )
    sums = of_people(LedgerEntry.objects.filter(participation__study=study)).aggregate(
        **sums_by_status()
    )
    return Money(**sums, promised=promised, currency=study.currency)


def of_people(entries: QuerySet[LedgerEntry]) -> QuerySet[LedgerEntry]:
    return entries.filter(participation__kind=Kind.PERSON)


def sums_by_status() -> dict[str, Sum]:
    """Return aggregates of ledger entries in cents, by payment status."""
    held = Q(participation__is_paid=False, payment__isnull=True)
    paid = Q(payment__batch__state=PaymentBatch.State.PAID)
    return {
        "earned": Sum("cents", default=0),
        "paid": Sum("cents", filter=paid, default=0),
        "held_back": Sum("cents", filter=held, default=0),
    }
