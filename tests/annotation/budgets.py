"""Helpers for tests of a study's cap and budget."""

from decimal import Decimal

from django.db import transaction
from django.test import Client
from django.urls import reverse

from annotation.models import Participation
from annotation.pay import ledger
from tests import factories


def make_study(researcher, task, **fields):
    """Create a study capped at half an hour at 12 per hour (6.00), with a budget for two people."""
    limits = {
        "shots": [2], "annotators": 6, "estimated_minutes": 10, "budget": Decimal("12.00"),
        "max_paid_hours": Decimal("0.5"),
    }  # fmt: skip
    return factories.make_study(researcher, task, **(limits | fields))


def start(study, client=None) -> int:
    return (client or Client()).post(reverse("start", args=[study.link_code])).status_code


def works_for(seat, seconds: float) -> None:
    """Complete this participation, and settle its pay for this many seconds of work."""
    factories.work_through(seat)
    Participation.objects.filter(pk=seat.pk).update(worked_seconds=seconds)
    seat.refresh_from_db()
    with transaction.atomic():
        ledger.settle(seat)
