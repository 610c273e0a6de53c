"""Payments and reviews on Prolific over HTTP: approvals, bonuses, rejections and crashes."""

from urllib.parse import urlencode

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from annotation.models import (
    LedgerEntry,
    Participation,
    PaymentBatch,
)
from annotation.pay import ledger as pay
from annotation.payout import batches
from annotation.payout import payments as payout
from annotation.prolific import client as prolific_client
from annotation.prolific import drafts, studies, sync
from annotation.prolific.client import ProlificError
from tests import factories
from tests.annotation.prolific.fixtures import (
    BO,
    HOST,
    IDA,
    arrive,
    begin,
    complete,
    pay_all,
    status,
    submission_of,
)  # fmt: skip


def books(fake) -> int:
    return sum(account["paid_cents"] for account in fake.books().values())


def ledger() -> int:
    return sum(LedgerEntry.objects.values_list("cents", flat=True))


def invent_submission(on_prolific):
    """A stranger who knows IDA's id arrives with it; Prolific does not know that submission."""
    ids = {"PROLIFIC_PID": IDA, "STUDY_ID": on_prolific.external_id, "SESSION_ID": "e" * 24}
    return Client().post(f"{reverse('start', args=[on_prolific.code])}?{urlencode(ids)}")


def sync_and_pay(study):
    sync.sync(study)
    return pay_all(study)


@pytest.mark.long
def test_rewards_are_paid_by_approval_and_the_rest_by_bonus(fake, study, published):
    seat = complete(fake, published)
    pay.add_bonus(seat, 123, "thanks", None)
    sentences = sync_and_pay(study)
    assert len(sentences) == 2
    assert books(fake) == ledger() == 1123
    assert sync_and_pay(study) == []
    assert books(fake) == 1123


@pytest.mark.long
def test_a_screen_out_gets_the_fixed_reward_and_then_the_rate(fake, study, published):
    session, seat = arrive(fake, published)
    begin(seat)
    factories.work_through(seat, lambda turn: ["train"], limit=2)
    factories.go_on(seat.token)
    seat.refresh_from_db()
    assert seat.status == "screened_out"
    fake.complete(session, published.codes["not_qualified"])
    assert status(fake, session) == "SCREENED OUT"
    sync_and_pay(study)
    assert books(fake) == ledger() == published.screen_out_cents
    assert PaymentBatch.objects.get().method == "exit"


@pytest.mark.long
def test_a_lost_reply_to_a_payment_does_not_pay_twice(fake, study, published):
    seat = complete(fake, published)
    pay.add_bonus(seat, 100, "thanks", None)
    sync.sync(study)
    batches.prepare(study, None)
    batch = PaymentBatch.objects.get(method="bonus")
    batch.external_id = prolific_client.Client().prepare_bonuses(
        published.external_id, payout.bonus_lines(batch)
    )
    batch.save()
    fake.mode(fail_after_next=1)
    with pytest.raises(ProlificError, match="503"):
        payout.pay_batch(batch)
    batch.refresh_from_db()
    assert batch.state == "paying"
    payout.pay_batch(batch)
    payout.pay_batch(batch)
    assert batch.state == "paid"
    assert fake.books()[IDA]["entries"] == [
        {"kind": "bonus", "cents": 100, "study": published.external_id,
         "submission": submission_of(fake, published)["id"]}
    ]  # fmt: skip


def crash_while_paying(study, seat) -> PaymentBatch:
    """Return a bonus that is being paid, after a second attempt has been refused."""
    pay.add_bonus(seat, 100, "thanks", None)
    batches.prepare(study, None)
    batch = PaymentBatch.objects.get(method="bonus")
    PaymentBatch.objects.filter(pk=batch.pk).update(state="paying", paying_since=timezone.now())
    with pytest.raises(batches.PaymentError, match="payments are never made twice"):
        payout.pay_batch(batch)
    return batch


def test_an_invented_submission_does_not_block_a_lookup(fake, study, published):
    session, seat = arrive(fake, published)
    begin(seat)
    assert invent_submission(published).status_code == 409
    factories.work_through(seat)
    fake.complete(session, published.codes["completed"])
    crash_while_paying(study, seat)


@pytest.mark.long
def test_a_crash_before_the_payment_request_pays_once_later(fake, study, published):
    seat = complete(fake, published)
    batch = crash_while_paying(study, seat)
    assert books(fake) == 0
    long_ago = timezone.now() - 2 * payout.SETTLING
    PaymentBatch.objects.filter(pk=batch.pk).update(paying_since=long_ago)
    payout.pay_batch(batch)
    assert books(fake) == 100


@pytest.mark.long
def test_two_lookups_of_a_lost_payment_pay_it_once(fake, study, published, monkeypatch):
    seat = complete(fake, published)
    pay.add_bonus(seat, 100, "thanks", None)
    batches.prepare(study, None)
    batch = PaymentBatch.objects.get(method="bonus")
    long_ago = timezone.now() - 2 * payout.SETTLING
    PaymentBatch.objects.filter(pk=batch.pk).update(state="paying", paying_since=long_ago)

    class Overtaken(prolific_client.Client):
        """A client that looks up the payment while another process pays the batch."""

        def submission(self, submission):
            seen = super().submission(submission)
            payout.pay_batch(PaymentBatch.objects.get(pk=batch.pk))
            return seen

    with pytest.raises(batches.PaymentError, match="already being paid"):
        payout.pay_batch(batch, Overtaken())
    assert books(fake) == 100
    assert PaymentBatch.objects.get(pk=batch.pk).state == "paid"


@pytest.mark.long
def test_a_refused_payment_does_not_change_the_batch(fake, study, published):
    seat = complete(fake, published)
    pay.add_bonus(seat, 100, "thanks", None)
    batches.prepare(study, None)
    batch = PaymentBatch.objects.get(method="bonus")
    PaymentBatch.objects.filter(pk=batch.pk).update(external_id="0" * 24)
    with pytest.raises(ProlificError, match="404"):
        payout.pay_batch(batch)
    batch.refresh_from_db()
    assert batch.state == "prepared"


@pytest.mark.long
def test_an_approval_before_the_submission_returns_is_retried(fake, study, published):
    fake.mode(lag=10)
    complete(fake, published)
    (batch,) = batches.prepare(study, None)
    with pytest.raises(batches.PaymentError, match="Try again in a minute"):
        payout.pay_batch(batch)
    batch.refresh_from_db()
    assert batch.state == "paying"
    while submission_of(fake, published)["status"] == "ACTIVE":
        pass
    sync_and_pay(study)
    sync_and_pay(study)
    batch.refresh_from_db()
    assert (batch.state, books(fake)) == ("paid", 1000)


@pytest.mark.long
def test_a_submission_that_cannot_be_approved_stops_no_other(fake, study, published):
    session, seat = arrive(fake, published)
    begin(seat)
    factories.work_through(seat)
    complete(fake, published, BO)
    (batch,) = batches.prepare(study, None)
    fake.return_submission(session)  # after the batch was prepared
    with pytest.raises(batches.PaymentError, match=f"not approved: {seat.pseudonym}"):
        payout.pay_batch(batch)
    assert fake.books()[BO]["entries"][0]["cents"] == published.reward_cents
    assert PaymentBatch.objects.get(pk=batch.pk).state == "paid"
    sync_and_pay(study)
    assert fake.books()[IDA]["entries"][0]["kind"] == "bonus"
    assert books(fake) == ledger() == 2 * published.reward_cents


@pytest.mark.long
def test_returned_work_is_paid_by_bonus(fake, study, published):
    session, seat = arrive(fake, published)
    begin(seat)
    factories.work_through(seat, limit=3)
    fake.return_submission(session)
    sync.sync(study)
    Participation.objects.filter(pk=seat.pk).update(worked_seconds=90)
    sync_and_pay(study)
    assert books(fake) == ledger() == 150


@pytest.mark.long
def test_a_further_task_is_paid_through_the_first_submission(fake, researcher):
    tasks = [factories.make_task(), factories.make_task(name="toy-other")]
    fields = {
        "shots": [0],
        "currency": "GBP",
        "hourly_rate": 60,
        "base_reward": 3,
        "tasks_per_worker": 2,
    }
    study = factories.make_study(researcher, *tasks, **fields)
    for draft in drafts.plan(study, 0, researcher):
        studies.create(draft, HOST)
    first = study.prolific_studies.first()
    session, seat = arrive(fake, first)
    begin(seat)
    assert invent_submission(first).status_code == 409
    factories.work_through(seat)
    reply = Client().post(reverse("next_task", args=[seat.token]))
    further = Participation.objects.get(token=reply.url.split("/")[2])
    begin(further)
    factories.work_through(further)
    page = Client().get(reverse("work", args=[further.token])).content.decode()
    assert f"complete?cc={first.codes['completed']}" in page
    fake.complete(session, first.codes["completed"])
    sync_and_pay(study)
    assert books(fake) == ledger() == first.reward_cents + 300


@pytest.mark.long
def test_a_look_at_what_is_due_pays_nothing(fake, study, published):
    complete(fake, published)
    program = Client(headers=factories.bearer(study.owner, "pay"))
    address = reverse("api_pay", args=[study.name])
    reply = program.get(address).json()
    assert ("base", "approval") in {(row["kind"], row["method"]) for row in reply["due"]}
    assert (books(fake), PaymentBatch.objects.count()) == (0, 0)


@pytest.mark.long
def test_the_bonus_csv_has_prolifics_format(fake, study, published, payer):
    seat = complete(fake, published)
    pay.add_bonus(seat, 123, "thanks", None)
    pay.add_bonus(seat, 27, "again", None)
    batches.prepare(study, None)
    batch = PaymentBatch.objects.get(method="bonus")
    text = payer.get(reverse("pay_batch_file", args=[study.name, batch.pk])).content
    assert text == f"{IDA},1.50\r\n".encode()


# Review ------------------------------------------------------------------------------------------


def review(payer, seat, **fields):
    return payer.post(
        reverse("participation_review", args=[seat.study.name, seat.pseudonym]), fields
    )


@pytest.mark.long
def test_a_rejection_needs_a_ground_and_a_message(fake, published, payer):
    seat = complete(fake, published)
    page = reverse("participation", args=[seat.study.name, seat.pseudonym])
    assert "on Prolific" in payer.get(page).content.decode()
    short = review(payer, seat, action="reject", category="LOW_EFFORT", message="too short")
    assert (short.status_code, "100 characters" in short.content.decode()) == (422, True)
    review(payer, seat, action="reject", category="LOW_EFFORT", message="the same answer " * 9)
    seat.refresh_from_db()
    assert (seat.is_paid, seat.in_analysis) == (False, True)
    assert submission_of(fake, published)["status"] == "REJECTED"
    assert any("rejected on Prolific" in entry.what for entry in seat.study.events.all())


@pytest.mark.long
def test_a_submission_being_paid_cannot_be_rejected(fake, study, published, payer):
    seat = complete(fake, published)
    batches.prepare(study, None)
    reply = review(payer, seat, action="reject", category="LOW_EFFORT", message="x" * 120)
    assert reply.status_code == 422
    assert "paid" in reply.content.decode()


@pytest.mark.long
def test_a_participant_can_be_asked_to_return(fake, published, payer):
    seat = complete(fake, published)
    assert review(payer, seat, action="return", message=" ").status_code == 422
    assert review(payer, seat, action="return", message="Please return it.").status_code == 302
    assert submission_of(fake, published)["return_requested"]
