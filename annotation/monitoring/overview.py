"""The studies of a researcher at a glance: seats, people at work, money."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db.models import Count, Max, Q, QuerySet, Sum

from annotation.models import (
    ANALYSED,
    AT_WORK_WITHIN,
    LIVE,
    Kind,
    LedgerEntry,
    Participation,
    Scenario,
    Status,
    Study,
)
from annotation.money import ledger
from annotation.monitoring.costs import of_people, sums_by_status
from tasks.clock import database_now


@dataclass(frozen=True)
class Summary:
    """One study among others: seats of people, who works now, and money in cents."""

    study: Study
    seats: int
    completed: int
    at_work_count: int
    waiting: int
    due: int
    last_active_at: datetime | None

    @property
    def due_in_words(self) -> str:
        return f"{ledger.in_currency(self.due)} {self.study.currency}"


def for_studies(studies: QuerySet[Study]) -> list[Summary]:
    """The overview, in four queries."""
    studies = studies.defer("consent_text", "comprehension_questions")
    seats = dict(
        Scenario.objects.filter(study__in=studies.values("pk"))
        .order_by()
        .values_list("study")
        .annotate(seats=Sum("seats"))
    )
    counts, due = _counts(studies), _due(studies)
    nobody = {"completed": 0, "now": 0, "waiting": 0, "last": None}
    return [
        Summary(
            study=study,
            seats=seats.get(study.pk, 0),
            completed=counts.get(study.pk, nobody)["completed"],
            at_work_count=counts.get(study.pk, nobody)["now"],
            waiting=counts.get(study.pk, nobody)["waiting"],
            due=due.get(study.pk, 0),
            last_active_at=counts.get(study.pk, nobody)["last"],
        )
        for study in studies
    ]


def _counts(studies: QuerySet[Study]) -> dict[int, dict[str, Any]]:
    """Study -> people who completed, work now or wait, and when anybody last did anything."""
    recent = Q(kind=Kind.PERSON, status__in=LIVE)
    recent &= Q(last_active_at__gte=database_now() - AT_WORK_WITHIN)
    rows: Iterable[Any] = (
        Participation.objects.filter(study__in=studies.values("pk"))
        .with_last_active()
        .order_by()
        .values("study")
        .annotate(
            completed=Count("pk", filter=ANALYSED & Q(kind=Kind.PERSON)),
            now=Count("pk", filter=recent),
            waiting=Count("pk", filter=Q(status=Status.WAITING)),
            last=Max("last_active_at"),
        )
    )
    return {row["study"]: row for row in rows}


def _due(studies: QuerySet[Study]) -> dict[int, int]:
    """Study -> cents that are earned, not yet paid and not held back."""
    entries = LedgerEntry.objects.filter(participation__study__in=studies.values("pk"))
    by_study = of_people(entries).order_by().values("participation__study")
    rows: Iterable[Any] = by_study.annotate(**sums_by_status())
    return {
        row["participation__study"]: row["earned"] - row["paid"] - row["held_back"] for row in rows
    }
