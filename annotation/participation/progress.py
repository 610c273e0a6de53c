"""A participation's progress: position, remaining examples, time left, and pay.

After ENOUGH answers, the time left is based on the participant's own pace; before that, on the
study's estimate. These are pure functions of existing counts, and nothing is stored.
"""

from dataclasses import dataclass
from decimal import ROUND_DOWN, ROUND_HALF_UP, Decimal
from functools import cached_property
from typing import Any

from django.utils.formats import localize
from django.utils.translation import gettext, gettext_lazy

ENOUGH = 5  # minimum number of answers for a pace
BREAK_EVERY = 50  # examples
STEPS = {
    "try-out": gettext_lazy("Try-out"),
    "training": gettext_lazy("Training"),
    "screening": gettext_lazy("Screening"),
    "anchor": gettext_lazy("First examples"),
    "annotation": gettext_lazy("Main part"),
}
PLACES = {
    "try-out": gettext_lazy("Try-out, example %(number)s of %(total)s"),
    "training": gettext_lazy("Training, example %(number)s of %(total)s"),
    "screening": gettext_lazy("Screening, example %(number)s of %(total)s"),
    "annotation": gettext_lazy("Main part, example %(number)s of %(total)s"),
}


@dataclass(frozen=True)
class Place:
    """An example's position in its step, and the number of examples in each step."""

    step: str
    number: int
    total: int
    training_total: int = 0
    screening_total: int = 0
    test_total: int = 0
    anchor_total: int = 0
    # Whether this is an invented sentence before the first example (try_out.py).
    trying: bool = False

    @classmethod
    def at(
        cls, step: str, position: int, anchor: int, upstream: int, training: int, screening: int,
        test: int,
    ) -> "Place":  # fmt: skip
        """Return the position to show: upstream and training are one step. `position` is from 0."""
        totals = (upstream + training, screening, test, anchor)
        if step in ("upstream", "training"):
            number = position + 1 + (upstream if step == "training" else 0)
            return cls("training", number, totals[0], *totals)
        if step in ("screening", "anchor"):
            size = screening if step == "screening" else anchor
            return cls(step, position + 1, size, *totals)
        return cls("annotation", position + 1, test, *totals)  # checks are unmarked

    @property
    def name(self) -> Any:
        return STEPS["try-out" if self.trying else self.step]

    @property
    def in_words(self) -> str:
        if self.step == "anchor":
            return self.title
        return PLACES["try-out" if self.trying else self.step] % vars(self)

    @property
    def title(self) -> str:
        return gettext("%(step)s, %(number)s of %(total)s") % (vars(self) | {"step": self.name})

    @property
    def is_before_test(self) -> bool:
        return self.step in ("anchor", "training", "screening")

    @property
    def begins_test(self) -> bool:
        return self.step == "annotation" and self.number == 1 and self.training_total > 0

    @property
    def before_test(self) -> int:
        return self.anchor_total + self.training_total + self.screening_total

    @property
    def answered(self) -> int:
        before = {
            "annotation": self.before_test,
            "screening": self.anchor_total + self.training_total,
            "training": self.anchor_total,
        }
        return before.get(self.step, 0) + self.number - 1

    def tracks(self, done: int) -> list[dict[str, float]]:
        """Return the progress bars before and during the test, as percentages of the width.

        `done` is the number of answered examples in the current step. The bar before the test is
        at least 15% wide, so that it is visible.
        """
        totals = [self.before_test, self.test_total]
        if self.is_before_test and not self.before_test:
            totals[0] = self.total
        if self.step == "annotation":
            totals[1] = self.total
        examples = sum(totals) or 1
        first = max(15.0, 100 * totals[0] / examples) if all(totals) else 100.0 * bool(totals[0])
        earlier = self.answered - self.number + 1
        answered = [earlier + done, 0] if self.is_before_test else [totals[0], done]
        tracks, begin = [], 0.0
        for total, share, ready in zip(totals, (first, 100 - first), answered, strict=True):
            if total:
                width = round(share * ready / total, 2)
                tracks.append({"begin": begin, "width": share, "done": width})
            begin += share
        return tracks


@dataclass(frozen=True)
class Progress:
    """Numbers of examples answered and in total, across all steps. Times are in seconds."""

    answered: int = 0
    total: int = 0
    # Time worked so far, and the part of it that was spent on answered examples.
    worked: float = 0.0
    on_examples: float = 0.0
    # The study's estimate for all of the work, or None.
    estimated: float | None = None
    hourly_rate: Decimal = Decimal(0)
    max_paid_seconds: int | None = None
    currency: str = ""

    @property
    def worked_seconds(self) -> int:
        return int(self.worked)

    @property
    def earned(self) -> str:
        """Return earnings for the time worked, rounded down. The ledger holds exact amounts."""
        return str(self._pay(self.worked_seconds).quantize(Decimal("0.01"), ROUND_DOWN))

    @property
    def worked_minutes(self) -> str:
        return str(round(self.worked_seconds / 60))

    @property
    def earned_in_words(self) -> str:
        return localize(Decimal(self.earned))

    @property
    def expected_in_words(self) -> str:
        return str(localize(self.expected_pay))

    @cached_property
    def seconds_left(self) -> float | None:
        """Return the time left, by pace or the study's estimate, or None if neither is known."""
        to_come = self.total - self.answered
        if self.answered >= ENOUGH:
            return self.on_examples / self.answered * to_come
        if self.estimated is None or not self.total:
            return None
        return self.estimated * to_come / self.total

    @cached_property
    def minutes_left(self) -> int | None:
        """Return the minutes left, at least 1 while examples remain, or None."""
        left = self.seconds_left
        return None if left is None else max(int(self.answered < self.total), round(left / 60))

    @cached_property
    def expected_pay(self) -> Decimal | None:
        """Return the expected pay for all work, up to the cap, or None if it is unknown."""
        if not self.hourly_rate or self.seconds_left is None:
            return None
        pay = self._pay(self.worked + self.seconds_left)
        return pay.quantize(Decimal("0.01"), ROUND_HALF_UP)

    def _pay(self, seconds: float) -> Decimal:
        if self.max_paid_seconds is not None:
            seconds = min(seconds, self.max_paid_seconds)
        return self.hourly_rate * Decimal(seconds) / 3600

    @property
    def is_milestone(self) -> bool:
        """Return whether to suggest a break: every 50 examples, unless few are left."""
        return (
            self.answered > 0
            and self.answered % BREAK_EVERY == 0
            and self.total - self.answered >= BREAK_EVERY // 5
        )
