"""Progress of a participation: remaining examples, time left, expected pay.

The pace is the participation's after enough answers, before that the study's estimate. Pure
functions of existing counts: nothing is stored for them.
"""

from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Decimal
from functools import cached_property

ENOUGH = 5  # answers required for a pace
BREAK_EVERY = 50  # examples


@dataclass(frozen=True)
class Way:
    """`answered` of `total` examples of both steps; times in seconds."""

    answered: int
    total: int
    # Time worked so far, and the part of it on answered examples.
    worked: float = 0.0
    on_examples: float = 0.0
    # The study's estimate for the whole work; None if it has none.
    estimated: float | None = None
    hourly_rate: Decimal = Decimal(0)
    max_paid_seconds: int | None = None

    @cached_property
    def seconds_left(self) -> float | None:
        """Return the time left at this pace, else by the study's estimate; None without either."""
        to_come = self.total - self.answered
        if self.answered >= ENOUGH:
            return self.on_examples / self.answered * to_come
        if self.estimated is None or not self.total:
            return None
        return self.estimated * to_come / self.total

    @cached_property
    def minutes_left(self) -> int | None:
        """Return whole minutes, at least 1 while examples remain."""
        left = self.seconds_left
        return None if left is None else max(int(self.answered < self.total), round(left / 60))

    @cached_property
    def expected_pay(self) -> Decimal | None:
        """Return the pay for all work at this pace, capped; None without a rate or a time."""
        if not self.hourly_rate or self.seconds_left is None:
            return None
        seconds = self.worked + self.seconds_left
        if self.max_paid_seconds is not None:
            seconds = min(seconds, self.max_paid_seconds)
        pay = self.hourly_rate * Decimal(seconds) / 3600
        return pay.quantize(Decimal("0.01"), ROUND_HALF_UP)

    @property
    def is_milestone(self) -> bool:
        """Is this a good moment for a break: every 50 examples, unless few are left?"""
        return (
            self.answered > 0
            and self.answered % BREAK_EVERY == 0
            and self.total - self.answered >= BREAK_EVERY // 5
        )
