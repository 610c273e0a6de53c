"""Clocks are set back, and those of two machines differ: nobody loses a seat or a result by it."""

import time
from datetime import timedelta

import pytest
from django.core.management import call_command
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from analysis import verify
from annotation.models import Answer, Participation
from tests import factories


@pytest.fixture
def study(researcher):
    return factories.make_study(researcher, factories.make_task(), shots=[2], annotators=3)


@pytest.fixture
def set_clock(monkeypatch):
    """Set this machine's clock by so much; PostgreSQL keeps its own."""
    now, seconds = timezone.now, time.time

    def set_by(step: timedelta) -> None:
        monkeypatch.setattr(timezone, "now", lambda: now() + step)
        monkeypatch.setattr(time, "time", lambda: seconds() + step.total_seconds())

    return set_by


@pytest.fixture
def seat(study):
    return factories.seat(study.scenarios.get())


def test_an_answer_after_the_clock_was_set_back_leaves_the_study_releasable(
    seat, study, set_clock, tmp_path
):
    for seconds in (0, -10, -3600, -2, -86400):
        set_clock(timedelta(seconds=seconds))
        factories.work_through(seat, limit=1)
    factories.work_through(seat)
    moments = list(Answer.objects.order_by("turn").values_list("turn__shown_at", "submitted_at"))
    assert len(moments) == 6
    flat = [moment for pair in moments for moment in pair]
    assert flat == sorted(flat)
    call_command("export_study", study.name, str(tmp_path / "export"), verbosity=0)
    assert verify.main(tmp_path / "export") == 0


def test_a_clock_that_is_set_back_expires_nobody(seat, study, set_clock):
    set_clock(timedelta(days=-30))
    factories.join(study)
    factories.join(study)
    seat.refresh_from_db()
    assert (seat.status, Participation.objects.live().count()) == ("working", 3)


@pytest.mark.postgres
@pytest.mark.parametrize("days", [3, -3], ids=["ahead", "behind"])
def test_a_machine_whose_clock_is_wrong_expires_nobody(seat, study, set_clock, days):
    arrived = factories.join(study)
    set_clock(timedelta(days=days))
    Client().post(reverse("start", args=[study.link_code]))
    set_clock(timedelta())
    Client().post(reverse("start", args=[study.link_code]))
    live = Participation.objects.live().count()
    seat.refresh_from_db()
    arrived.refresh_from_db()
    assert (seat.status, arrived.status, live) == ("working", "arrived", 3)
