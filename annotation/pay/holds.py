"""Ledger entries that are held for review because they are far above the usual amount.

Clients report the activity that determines time-based earnings. Earnings above three times the
usual amount in the scenario are reviewed by a person before payment. A held entry stays outside
batches until a payer releases it with a reason, or decides not to pay the annotator.
"""

import statistics
from collections import defaultdict
from dataclasses import dataclass
from datetime import timedelta

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import Max, Q, Sum

from annotation.models import (
    AuditEntry,
    Decision,
    Kind,
    LedgerEntry,
    Participation,
    Status,
    Study,
    Topic,
)
from annotation.pay import ledger
from tasks.clock import database_now

TIMES = 3  # entries above this multiple of the usual amount are held
OTHERS_NEEDED = 3  # minimum number for a median; with fewer, the estimate is used
# Time-based entries. For platform exits and bonuses, a person has already approved the amount.
BY_TIME = (ledger.Kind.TOP_UP, ledger.Kind.PARTIAL, ledger.Kind.WAITING)


@dataclass(frozen=True)
class Hold:
    """A participation's earnings, the usual amount, and the held entries. Amounts are in cents."""

    participation: Participation
    earned: int
    usual: float
    entries: tuple[LedgerEntry, ...]

    @property
    def waiting(self) -> int:
        return sum(entry.cents for entry in self.entries)


def holds(study: Study) -> list[Hold]:
    """Return the holds that are currently waiting for review, in the order of the ledger."""
    waiting: dict[int, list[LedgerEntry]] = defaultdict(list)
    entries = LedgerEntry.objects.filter(
        participation__study=study, participation__kind=Kind.PERSON, participation__is_paid=True,
        payment__isnull=True, kind__in=BY_TIME,
    )  # fmt: skip
    for entry in entries.select_related("participation__scenario__task").order_by("pk"):
        waiting[entry.participation_id].append(entry)
    if not waiting:
        return []
    released = dict(
        Decision.objects.filter(participation__in=waiting, about=Decision.About.RELEASE)
        .order_by()
        .values_list("participation")
        .annotate(latest=Max("at"))
    )
    earned = _earned(study)
    on_hold = []
    for pk, theirs in waiting.items():
        participation = theirs[0].participation
        own, scenario, _completed = earned[pk]
        others = [
            cents
            for other, (cents, of, completed) in earned.items()
            if other != pk and of == scenario and completed and cents
        ]
        usual = _usual(participation, others)
        held = [entry for entry in theirs if pk not in released or entry.at > released[pk]]
        if held and own > TIMES * usual:
            on_hold.append(Hold(participation, own, usual, tuple(held)))
    return on_hold


def _earned(study: Study) -> dict[int, tuple[int, int, bool]]:
    """Return (cents without bonuses, scenario, completed) by participation, if it has entries."""
    people = study.participations.filter(kind=Kind.PERSON, ledger__isnull=False).annotate(
        cents=Sum("ledger__cents", filter=~Q(ledger__kind=ledger.Kind.BONUS), default=0)
    )
    completed = Status.COMPLETED
    return {
        pk: (cents, scenario, status == completed)
        for pk, cents, scenario, status in people.values_list(
            "pk", "cents", "scenario_id", "status"
        )
    }


def _usual(participation: Participation, others: list[int]) -> float:
    """Return the median of others who completed or, if there are too few, the estimated pay."""
    if len(others) >= OTHERS_NEEDED:
        return statistics.median(others)
    study, minutes = participation.study, participation.scenario.estimated_minutes
    estimate = ledger.for_time(study, timedelta(minutes=minutes))
    return max(estimate, ledger.cents(study.base_reward))


def release(participation: Participation, reason: str, by: User) -> None:
    """Release the held earnings of a participation for payment. The decision is logged.

    Later entries are judged separately. Raises ValueError without a reason.
    """
    if not reason.strip():
        raise ValueError("Enter a reason. It is stored with the decision.")
    with transaction.atomic():
        locked = Participation.objects.select_for_update(no_key=True).get(pk=participation.pk)
        if any(hold.participation.pk == locked.pk for hold in holds(locked.study)):
            locked.decisions.create(
                about=Decision.About.RELEASE,
                outcome=True,
                reason=reason.strip(),
                by=by,
                at=database_now(),
            )
            AuditEntry.objects.record(
                "released held pay", Topic.PAY, study=locked.study, about=locked.pseudonym, by=by
            )
