"""After `accept_keys`, data encrypted with a lost key doesn't block other work."""

import pytest
from django.core.management import call_command
from django.urls import reverse

from annotation.models import PaymentBatch, Submission
from annotation.pay import ledger
from annotation.payout import batches
from annotation.payout import payments as payout
from annotation.prolific import sync
from tests import factories
from tests.annotation.prolific.fixtures import BO, IDA, complete, pay_all

SENTENCE = "IDENTITY_KEY is not the key"


@pytest.fixture
def ada(ada, researcher):
    """A client signed in as the researcher, who may spend."""
    factories.may_spend(researcher)
    return ada


@pytest.fixture
def lose(settings):
    """Return a function that replaces keys and accepts the new ones."""

    def lose_keys(*names: str) -> None:
        for name in names or ("IDENTITY_KEY",):
            setattr(settings, name, f"another {name}, as long as a key has to be")
        call_command("accept_keys", "--yes", stdout=None)

    return lose_keys


@pytest.fixture
def batch(fake, study, published) -> PaymentBatch:
    """A bonus that was due on Prolific when the key was lost."""
    ledger.add_bonus(complete(fake, published), 100, "thanks", None)
    sync.sync(study)
    batches.prepare(study, None)
    return PaymentBatch.objects.get(method="bonus")


def paid(fake) -> dict[str, int]:
    return {person: account["paid_cents"] for person, account in fake.books().items()}


@pytest.mark.long
def test_sync_names_lost_ids_and_continues_with_the_others(ada, fake, study, published, lose):
    ida = complete(fake, published, IDA)
    Submission.objects.update(verified=None)
    lose()
    complete(fake, published, BO)
    reply = ada.post(reverse("prolific_sync", args=[study.name]), follow=True)
    assert reply.status_code == 200
    page = reply.content.decode()
    assert SENTENCE in page
    assert str(ida) in page
    of_bo = Submission.objects.latest("pk")
    assert (of_bo.verified, of_bo.status) == (True, "AWAITING_REVIEW")
    assert study.prolific_studies.get().blocklist_size == 1


@pytest.mark.long
def test_only_people_with_a_lost_id_need_manual_payment(fake, study, published, lose):
    ida = complete(fake, published, IDA)
    lose()
    bo = complete(fake, published, BO)
    for person in (ida, bo):
        ledger.add_bonus(person, 100, "thanks", None)
    sync.sync(study)
    results = pay_all(study)
    assert results
    assert not [result for result in results if "NOT PAID" in result]
    assert paid(fake) == {IDA: published.reward_cents, BO: published.reward_cents + 100}
    by_hand = PaymentBatch.objects.get(method="hand")
    assert factories.total(by_hand) == 100
    assert payout.LOST in payout.batch_csv(by_hand)


@pytest.mark.long
def test_a_bonus_of_a_lost_id_explains_what_to_do(ada, study, batch, lose):
    lose()
    address = reverse("pay", args=[study.name])
    for reply in (
        ada.get(reverse("pay_batch_file", args=[study.name, batch.pk])),
        ada.post(address, {"action": "pay", "batch": batch.pk}),
    ):
        assert reply.status_code == 409
        assert SENTENCE in reply.content.decode()
        assert "Cancel this batch" in reply.content.decode()
    ada.post(address, {"action": "cancel", "batch": batch.pk})
    ada.post(address, {"action": "prepare"})
    assert PaymentBatch.objects.latest("pk").method == "hand"


@pytest.mark.long
def test_an_interrupted_payment_is_looked_up_by_hash(fake, batch, lose):
    payout.pay_batch(batch)
    PaymentBatch.objects.update(state="paying", paid_at=None)
    lose()
    payout.pay_batch(batch)
    assert batch.state == "paid"
    assert paid(fake) == {IDA: 100}


@pytest.mark.long
def test_a_payment_that_cannot_be_looked_up_is_reported(ada, fake, study, batch, lose):
    PaymentBatch.objects.update(state="paying", paying_since=batch.created_at)
    lose("IDENTITY_KEY", "WORKER_KEY")
    for unpaid in PaymentBatch.objects.filter(method__in=["approval", "bonus"]):
        reply = ada.post(reverse("pay", args=[study.name]), {"action": "pay", "batch": unpaid.pk})
        assert reply.status_code == 409
        assert "cannot be found on Prolific" in reply.content.decode()


@pytest.mark.long
def test_a_review_of_a_lost_id_is_refused(ada, fake, study, published, lose):
    seat = complete(fake, published)
    sync.sync(study)
    lose()
    address = reverse("participation_review", args=[study.name, seat.pseudonym])
    ground = {"action": "reject", "category": "LOW_EFFORT", "message": "x" * 100}
    for sent in ({"action": "return", "message": "You asked for it."}, ground):
        reply = ada.post(address, sent)
        assert reply.status_code == 422
        assert SENTENCE in reply.content.decode()
