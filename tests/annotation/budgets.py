"""Studies with a cap and a budget, and people who work in them."""

from decimal import Decimal

from django.db import transaction
from django.test import Client
from django.urls import reverse

from annotation.models import Participation
from annotation.pay import ledger
from tests import factories


def make_study(researcher, task, **fields):
    """12 per hour for at most half an hour, so a cap of 6.00; a budget for two people at once."""
    limits = {
        "shots": [2], "annotators": 6, "estimated_minutes": 10, "budget": Decimal("12.00"),
        "max_paid_hours": Decimal("0.5"),
    }  # fmt: skip
    return factories.make_study(researcher, task, **(limits | fields))


def start(study, client=None) -> int:
    return (client or Client()).post(reverse("start", args=[study.link_code])).status_code


def works_for(seat, seconds: float) -> None:
    """This participation ends, with that much time worked in its ledger."""
    factories.work_through(seat)
    Participation.objects.filter(pk=seat.pk).update(worked_seconds=seconds)
    seat.refresh_from_db()
    with transaction.atomic():
        ledger.settle(seat)
