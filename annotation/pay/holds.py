"""Ledger entries far above what others earned, which are held for a payer's review.

Pings are reported by the client: if time-based earnings exceed three times the usual amount in the
scenario, a person reviews them before payment. A held entry stays in the ledger, outside batches,
until a payer releases it with a stored reason, or decides that this annotator is not paid.
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

TIMES = 3  # times the usual amount, above which an entry is held
OTHERS_NEEDED = 3  # minimum for their median; below it the estimate is used
# Time-based entries. A person has already approved rewards for platform exits and bonuses.
BY_TIME = (ledger.Kind.TOP_UP, ledger.Kind.PARTIAL, ledger.Kind.WAITING)


@dataclass(frozen=True)
class Hold:
    """A participation's earnings, the usual amount, and the part held, in cents."""

    participation: Participation
    earned: int
    usual: float
    entries: tuple[LedgerEntry, ...]

    @property
    def waiting(self) -> int:
        return sum(entry.cents for entry in self.entries)


def holds(study: Study) -> list[Hold]:
    """Return what is currently held for review, in ledger order."""
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
    """Return participation -> (cents without bonuses, scenario, completed), if it has entries."""
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
    """Return the median for the others who completed or, if too few did, the estimated pay."""
    if len(others) >= OTHERS_NEEDED:
        return statistics.median(others)
    study, minutes = participation.study, participation.scenario.estimated_minutes
    estimate = ledger.for_time(study, timedelta(minutes=minutes))
    return max(estimate, ledger.cents(study.base_reward))


def release(participation: Participation, reason: str, by: User) -> None:
    """Release this participation's held earnings for payment; logged with user and reason.

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
