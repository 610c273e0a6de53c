"""Ledger entries held for review because they are far above the usual amount.

Earnings for time depend on the activity that clients report, so if they exceed three times the
scenario's usual amount, a person reviews them before they are paid. A held entry is excluded from
batches until a payer releases it with a reason, or decides not to pay the annotator.
"""

import statistics
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from django.contrib.auth.models import User
from django.db.models import Max

from annotation.models import (
    AuditEntry,
    Decision,
    Kind,
    LedgerEntry,
    Participation,
    Scenario,
    Status,
    Study,
    Topic,
)
from annotation.pay import ledger
from tasks.columns import grouped

TIMES = 3  # entries above this multiple of the usual amount are held
OTHERS_NEEDED = 3  # others required for a median; with fewer, the estimate is used
# Entries that depend on time. Platform exits and bonuses have already been approved by a person.
BY_TIME = (ledger.Kind.TOP_UP, ledger.Kind.PARTIAL, ledger.Kind.WAITING)


@dataclass(frozen=True)
class Hold:
    """A participation's earnings, the usual amount, and the entries held. Amounts are in cents."""

    participation: Participation
    earned: int
    usual: int
    entries: tuple[LedgerEntry, ...]

    @property
    def worked(self) -> timedelta:
        return ledger.active_time(self.participation)

    @property
    def waiting(self) -> int:
        return sum(entry.cents for entry in self.entries)


def holds(study: Study) -> list[Hold]:
    """Return the holds that currently await review, in the order of the ledger."""
    entries = LedgerEntry.objects.filter(
        participation__study=study, participation__kind=Kind.PERSON, participation__is_paid=True,
        payment__isnull=True, kind__in=BY_TIME,
    )  # fmt: skip
    waiting = grouped((entry.participation_id, entry) for entry in entries.order_by("pk"))
    if not waiting:
        return []
    released = dict(
        Decision.objects.filter(participation__in=waiting, about=Decision.About.RELEASE)
        .order_by()
        .values_list("participation")
        .annotate(latest=Max("at"))
    )
    # By participation: cents without bonuses, scenario, completed.
    entered = study.participations.filter(kind=Kind.PERSON, ledger__isnull=False)
    summed: Iterable[Any] = entered.annotate(cents=ledger.WITHOUT_BONUSES).values_list(
        "pk", "cents", "scenario_id", "status"
    )
    earned = {pk: (cents, of, status == Status.COMPLETED) for pk, cents, of, status in summed}
    amounts: dict[int, list[int]] = defaultdict(list)
    for cents, of, completed in earned.values():
        if completed and cents:
            amounts[of].append(cents)
    scenarios = study.scenarios.in_bulk()
    amounts_held = {}
    for pk, rows in waiting.items():
        total, scenario, completed = earned[pk]
        other_totals = amounts[scenario].copy()
        if completed and total:
            other_totals.remove(total)
        usual = _usual(study, scenarios[scenario], other_totals)
        unreleased = tuple(row for row in rows if pk not in released or row.at > released[pk])
        if unreleased and total > TIMES * usual:
            amounts_held[pk] = total, round(usual), unreleased
    people = study.participations.select_related("scenario__task").in_bulk(amounts_held)
    return [Hold(people[pk], *values) for pk, values in amounts_held.items()]


def _usual(study: Study, scenario: Scenario, other_totals: list[int]) -> float:
    """Return the median for others who completed, or the estimated pay if too few did."""
    if len(other_totals) >= OTHERS_NEEDED:
        return statistics.median(other_totals)
    estimate = ledger.for_time(study, timedelta(minutes=scenario.estimated_minutes))
    return max(estimate, ledger.cents(study.base_reward))


def release(participation: Participation, reason: str, by: User) -> None:
    """Release, for payment, all earnings that are held so far."""
    with Participation.locking(participation.pk) as locked:
        if any(hold.participation.pk == locked.pk for hold in holds(locked.study)):
            locked.record_decision(Decision.About.RELEASE, True, reason, by)
            AuditEntry.objects.record(
                "released held pay", Topic.PAY, study=locked.study, about=locked.pseudonym, by=by
            )
