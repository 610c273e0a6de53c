"""Fixtures with a test double of Prolific over HTTP, and participants who arrive from it."""

import re
from urllib.parse import urlsplit

import pytest
from django.test import Client

from annotation.models import Participation
from annotation.payout import batches, payments
from annotation.prolific import accounts, drafts, studies, submissions
from annotation.prolific.client import ProlificError
from annotation.protocol import training_step
from annotation.recruitment import consent
from tests import factories
from tests.prolific_double.platform import FakeProlific

IDA, BO = "a" * 24, "b" * 24
HOST = "http://testserver"


@pytest.fixture
def fake(settings):
    platform = FakeProlific(token="t")
    server = platform.serve()
    settings.PROLIFIC_URL = settings.PROLIFIC_APP_URL = server.url
    settings.PROLIFIC_TOKEN = "t"
    yield platform
    server.close()


@pytest.fixture
def study(researcher):
    return factories.make_study(
        researcher,
        factories.make_task(),
        shots=[2],
        annotators=2,
        currency="GBP",
        hourly_rate=60,
        estimated_minutes=10,
        qualification="minimum",
        qualification_threshold=50,
    )


@pytest.fixture
def payer(ada, researcher):
    """A client signed in as the researcher, who may spend."""
    factories.may_spend(researcher)
    return ada


@pytest.fixture
def published(fake, study, researcher):
    (draft,) = drafts.plan(study, 0, researcher)
    studies.create(draft, HOST)
    return draft


def arrive(fake, on_prolific, person=IDA, **options):
    """Take a place and press Start; return the session id and the participation."""
    arrival = fake.arrive(on_prolific.external_id, person, **options)
    address = urlsplit(arrival["url"])
    reply = Client().post(f"{address.path}start/?{address.query}")
    assert reply.status_code == 302, reply.content.decode()
    seat = Participation.objects.get(token=reply.url.split("/")[2])
    submissions.verify(seat.study, accounts.client_of(on_prolific), submissions.SyncReport())
    return arrival["session_id"], seat


def begin(seat):
    consent.record(seat, agree=True)
    training_step.begin(seat.token)


def complete(fake, on_prolific, person=IDA) -> Participation:
    session, seat = arrive(fake, on_prolific, person)
    begin(seat)
    factories.work_through(seat)
    fake.complete(session, on_prolific.codes["completed"])
    seat.refresh_from_db()
    return seat


def pay_all(study, client=None) -> list[str]:
    """Pay all batches on Prolific, as payers do on the page. Return the result of each."""
    batches.prepare(study, None)
    results = []
    methods, states = ("approval", "bonus"), ("prepared", "paying")
    for batch in study.payment_batches.filter(method__in=methods, state__in=states):
        try:
            payments.pay_batch(batch, client)
        except (batches.PaymentError, ProlificError) as error:
            results.append(f"{batch.method}: NOT PAID. {error}")
        else:
            batch.refresh_from_db()
            results.append(f"{batch.method}: {batch.state}")
    return results


def status(fake, session) -> str:
    return fake.submission(session)["status"]


def submission_of(fake, on_prolific, person=IDA) -> dict:
    """Return a person's latest submission on Prolific."""
    rows = fake.submissions(on_prolific.external_id)
    return [row for row in rows if row["participant_id"] == person][-1]


def reject_there(fake, session) -> None:
    """Reject a submission on Prolific's own page, after completing it there if necessary."""
    if status(fake, session) == "ACTIVE":
        fake.complete(session, "NOCODE")
    change_there(
        fake, session, "REJECT", message="too few answers " * 9, rejection_category="NO_DATA"
    )


def change_there(fake, session, action: str, **fields) -> None:
    fake.transition_submission(session, {"action": action, **fields})


def landing_and_ticket(address: str) -> tuple[str, str]:
    """Return the landing page of a signed address, and the field that identifies the visitor."""
    page = Client().get(address.replace(HOST, "")).content.decode()
    return page, re.search(r'name="arrival" value="([^"]+)"', page)[1]


@pytest.fixture
def signed(fake, study, researcher):
    """A published study in a workspace where Prolific signs the study links."""
    fake.mode(signing="on")
    (draft,) = drafts.plan(study, 0, researcher)
    draft.signed = True
    draft.save()
    studies.create(draft, HOST)
    return draft
