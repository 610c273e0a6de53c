"""Who works at the moment, and where they are."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db.models import OuterRef, Subquery

from annotation.models import ParticipationQuerySet, Status, Step, Turn

SHOWN_AT_WORK = 20


@dataclass(frozen=True)
class AtWork:
    """A person who gave a sign of work lately (at_work of the QuerySet), and where they are."""

    pseudonym: str
    scenario: str
    where: str
    last_active_at: datetime


def latest(active: ParticipationQuerySet) -> list[AtWork]:
    """Those of them who gave a sign of work last, latest first."""
    return [_at_work(participation) for participation in _with_place(active)]


def _with_place(active: ParticipationQuerySet) -> Iterable[Any]:
    """The latest of them, each with the step and position of their latest turn."""
    latest = Turn.objects.filter(participation=OuterRef("pk")).order_by("-pk")
    rows: Iterable[Any] = (
        active.select_related("scenario__task")
        .defer("checks", "scenario__task__card_data")
        .annotate(
            step=Subquery(latest.values("step")[:1]),
            position=Subquery(latest.values("position")[:1]),
        )
        .order_by("-last_active_at", "-pk")[:SHOWN_AT_WORK]  # type: ignore[misc]  # annotated
    )
    return rows


def _at_work(participation: Any) -> AtWork:
    """Of a participation as `_with_place` returns it."""
    if participation.step is None:
        where = "consent" if participation.status == Status.ARRIVED else "instructions"
    elif participation.status in (Status.WAITING, Status.BETWEEN):
        where = participation.get_status_display()
    else:
        # An attention check has its place in the order of the annotation step.
        is_check = participation.step == Step.CHECK
        step = Step.ANNOTATION if is_check else Step(participation.step)
        where = f"{step.label}, {participation.position + 1} of {len(participation.order_of(step))}"
    return AtWork(
        participation.pseudonym, str(participation.scenario), where, participation.last_active_at
    )
