"""Clocks that jump back or differ between machines lose no seats and no results."""

import time
from datetime import timedelta

import pytest
from django.core.management import call_command
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from analysis.export import verify
from annotation.models import Answer, Participation, PaymentBatch
from annotation.pay import ledger
from annotation.payout import batches
from annotation.payout import payments as payout
from annotation.prolific import drafts, studies
from annotation.prolific.client import ProlificError
from tasks import jobs
from tasks.models import Job
from tests import factories
from tests.annotation.prolific.fixtures import HOST, complete


@pytest.fixture
def study(researcher):
    return factories.make_study(researcher, factories.make_task(), shots=[2], annotators=3)


@pytest.fixture
def set_clock(monkeypatch):
    """Return a function that moves this machine's clock, but not PostgreSQL's."""
    now, seconds = timezone.now, time.time

    def set_by(step: timedelta) -> None:
        monkeypatch.setattr(timezone, "now", lambda: now() + step)
        monkeypatch.setattr(time, "time", lambda: seconds() + step.total_seconds())

    return set_by


@pytest.fixture
def seat(study):
    return factories.seat(study.scenarios.get())


@pytest.mark.long
def test_answers_after_the_clock_was_set_back_can_be_released(seat, study, set_clock, tmp_path):
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


def test_a_clock_that_was_set_back_expires_no_seat(seat, study, set_clock):
    set_clock(timedelta(days=-30))
    factories.join(study)
    factories.join(study)
    seat.refresh_from_db()
    assert (seat.status, Participation.objects.live().count()) == ("working", 3)


@pytest.mark.postgres
@pytest.mark.parametrize("days", [3, -3], ids=["ahead", "behind"])
def test_a_machine_with_a_wrong_clock_expires_no_seat(seat, study, set_clock, days):
    arrived = factories.join(study)
    set_clock(timedelta(days=days))
    Client().post(reverse("start", args=[study.link_code]))
    set_clock(timedelta())
    Client().post(reverse("start", args=[study.link_code]))
    live = Participation.objects.live().count()
    seat.refresh_from_db()
    arrived.refresh_from_db()
    assert (seat.status, arrived.status, live) == ("working", "arrived", 3)


@pytest.fixture
def begun(fake, researcher):
    """A bonus batch whose payment was interrupted before Prolific received it."""
    on_prolific = factories.make_study(
        researcher, factories.make_task(name="paid"), shots=[2], annotators=2, currency="GBP",
        hourly_rate=60, estimated_minutes=10,
    )  # fmt: skip
    (draft,) = drafts.plan(on_prolific, 0, researcher)
    studies.create(draft, HOST)
    ledger.add_bonus(complete(fake, draft), 100, "thanks", None)
    batches.prepare(on_prolific, None)
    batch = PaymentBatch.objects.get(method="bonus")
    batch.external_id = payout.Client().prepare_bonuses(
        draft.external_id, payout.bonus_lines(batch)
    )
    batch.save()
    return batch


@pytest.mark.postgres
@pytest.mark.parametrize("hours", [2, -2], ids=["ahead", "behind"])
def test_a_machine_with_a_wrong_clock_repeats_no_payment(begun, fake, set_clock, hours):
    fake.mode(fail_next=1)
    with pytest.raises(ProlificError, match="503"):
        payout.pay_batch(begun)
    begun.refresh_from_db()
    assert begun.state == "paying"
    asked_for = begun.external_id
    set_clock(timedelta(hours=hours))
    with pytest.raises(batches.PaymentError, match="payments are never made twice"):
        payout.pay_batch(begun)
    begun.refresh_from_db()
    assert (begun.state, begun.external_id) == ("paying", asked_for)


@pytest.mark.postgres
def test_a_batch_begun_by_a_machine_with_a_fast_clock_is_retried(begun, set_clock, fake):
    fake.mode(fail_next=1)
    set_clock(timedelta(hours=2))
    with pytest.raises(ProlificError, match="503"):
        payout.pay_batch(begun)
    begun.refresh_from_db()
    set_clock(timedelta())
    assert abs(begun.paying_since - timezone.now()) < timedelta(minutes=10)


@pytest.mark.postgres
def test_a_machine_with_a_fast_clock_takes_no_claimed_chunk(db, set_clock, monkeypatch):
    ran = []

    def chunk(job, number):
        ran.append(number)
        set_clock(timedelta(hours=2))
        assert not jobs.run_chunk(Job.objects.get(pk=job.pk))

    monkeypatch.setitem(jobs.KINDS, "one", (chunk, timedelta(minutes=1)))
    jobs.advance(jobs.start("one", {}, total=1, owner=None))
    assert ran == [0]
