"""Participants arrive from Prolific by signed links, or by plain ids that are confirmed later."""

import time
from datetime import timedelta
from types import SimpleNamespace
from urllib.parse import parse_qs, urlencode, urlsplit

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import rsa
from django.core import signing
from django.db.models import F
from django.test import Client
from django.urls import reverse

from annotation.models import Participation, Submission, Worker
from annotation.pay import ledger
from annotation.payout import batches
from annotation.prolific import adapter, drafts, studies, submissions, sync
from annotation.prolific import client as prolific_client
from annotation.recruitment import visitors
from tests import factories
from tests.annotation.prolific.fixtures import (
    BO,
    HOST,
    IDA,
    arrive,
    begin,
    change_there,
    landing_and_ticket,
    reject_there,
)  # fmt: skip


@pytest.mark.long
def test_the_same_session_resumes_and_a_new_one_continues(fake, signed):
    session, seat = arrive(fake, signed)
    begin(seat)
    address = urlsplit(fake.link(session))
    again = Client().post(f"{address.path}start/?{address.query}")
    assert again.url == reverse("work", args=[seat.token])
    fake.return_submission(session)
    sync.sync(seat.study)
    seat.refresh_from_db()
    assert (seat.status, seat.seat_number) == ("returned", None)
    _session, back = arrive(fake, signed, again=True)
    assert (back.pk, back.status) == (seat.pk, "working")
    assert Submission.objects.filter(participation=seat).count() == 2


@pytest.mark.long
def test_a_late_participant_in_the_next_part_is_not_judged_again(fake, study, researcher):
    fake.mode(signing="on")
    first, _second = drafts.plan(study, 1, researcher)
    study.prolific_studies.update(signed=True)
    first.refresh_from_db()
    studies.create(first, HOST)
    second = study.prolific_studies.get(part=2)
    studies.create(second, HOST)
    session, seat = arrive(fake, first)
    begin(seat)
    factories.work_through(seat, limit=2)
    factories.go_on(seat.token)
    fake.complete(session, first.codes["completed"])
    Participation.objects.update(status="expired", seat_number=None)
    _session, back = arrive(fake, second)
    assert (back.status, back.latest_turn().step) == ("working", "annotation")
    assert back.decisions.count() == 1


def start_late(fake, on_prolific, arrival, ticket, adapter=None):
    """Press Start long after the link's signature has expired."""
    stale = urlsplit(fake.link(arrival["session_id"], at=time.time() - 24 * 3600))
    assert Client().get(f"{stale.path}?{stale.query}").status_code == 403
    path = reverse("start", args=[(adapter or on_prolific).code])
    return Client().post(f"{path}?{stale.query}", {"arrival": ticket})


@pytest.mark.long
def test_a_start_is_accepted_after_the_token_has_expired(fake, signed):
    arrival = fake.arrive(signed.external_id, IDA)
    _page, ticket = landing_and_ticket(arrival["url"])
    reply = start_late(fake, signed, arrival, ticket)
    assert reply.status_code == 302
    assert Submission.objects.get().participation.token in reply.url


@pytest.mark.long
@pytest.mark.parametrize("wrong", ["none", "changed", "too old", "of another study"])
def test_only_a_valid_ticket_of_this_study_replaces_a_signature(
    fake, signed, study, researcher, monkeypatch, wrong
):
    arrival = fake.arrive(signed.external_id, IDA)
    _page, ticket = landing_and_ticket(arrival["url"])
    adapter = None
    if wrong == "none":
        ticket = ""
    elif wrong == "changed":
        ticket = "x" + ticket
    elif wrong == "too old":
        later = time.time() + visitors.TICKET_AGE + 1
        monkeypatch.setattr(signing, "time", SimpleNamespace(time=lambda: later))
    else:
        other = factories.make_study(
            researcher, factories.make_task(name="other"), shots=[2], currency="GBP"
        )
        (adapter,) = drafts.plan(other, 0, researcher)
        studies.create(adapter, HOST)
    assert start_late(fake, signed, arrival, ticket, adapter).status_code == 403
    assert not Participation.objects.exists()


@pytest.mark.long
@pytest.mark.parametrize("missing", ["PROLIFIC_PID", "STUDY_ID", "SESSION_ID", "prolific_token"])
def test_every_parameter_of_an_arrival_is_required(fake, signed, missing):
    arrival = fake.arrive(signed.external_id, IDA)
    address = urlsplit(arrival["url"])
    query = {k: v[0] for k, v in parse_qs(address.query).items() if k != missing}
    reply = Client().get(address.path, query)
    assert reply.status_code == 403
    assert "from Prolific again" in reply.content.decode()


def test_plain_ids_are_accepted_without_signing(fake, published):
    query = {"PROLIFIC_PID": IDA, "STUDY_ID": published.external_id, "SESSION_ID": BO}
    landing = reverse("landing", args=[published.code])
    assert Client().get(landing, query).status_code == 200
    assert Client().get(landing, query | {"SESSION_ID": "x"}).status_code == 403


@pytest.mark.long
def test_an_unknown_key_is_reported_and_refused(fake, signed):
    arrival = fake.arrive(signed.external_id, IDA)
    signed.signing_keys = {"keys": []}
    signed.save()
    reply = Client().get(arrival["url"].replace(HOST, ""))
    assert reply.status_code == 403
    assert "try again in a minute" in reply.content.decode()
    sync.sync(signed.study)  # fetches the keys, so that no arrival waits for them
    assert Client().get(arrival["url"].replace(HOST, "")).status_code == 200


@pytest.mark.long
def test_a_full_study_shows_the_completion_code_for_full(fake, study, published):
    for number in range(2):
        factories.join(study, identity=f"other {number}")
    arrival = fake.arrive(published.external_id, IDA)
    address = urlsplit(arrival["url"])
    page = Client().get(f"{address.path}?{address.query}").content.decode()
    assert f"complete?cc={published.codes['study_full']}" in page
    fake.complete(arrival["session_id"], published.codes["study_full"])
    assert fake.submission(arrival["session_id"])["return_requested"]


@pytest.mark.long
def test_a_finished_participant_is_not_shown_that_it_is_full(fake, signed):
    session, seat = arrive(fake, signed)
    begin(seat)
    factories.work_through(seat)
    address = urlsplit(fake.link(session))
    page = Client().get(f"{address.path}?{address.query}").content.decode()
    assert reverse("work", args=[seat.token]) in page
    assert signed.codes["study_full"] not in page
    reply = Client().post(f"{address.path}start/?{address.query}")
    assert signed.codes["study_full"] not in reply.content.decode()


# Signed ------------------------------------------------------------------------------------------


def signed_anew(fake, url: str, **claims) -> str:
    """Return the same link with these claims changed, signed with Prolific's own key."""
    address = urlsplit(url)
    query = {name: values[0] for name, values in parse_qs(address.query).items()}
    token = query.pop("prolific_token")
    held = jwt.decode(token, options={"verify_signature": False}) | claims
    held = {name: value for name, value in held.items() if value is not None}
    query["prolific_token"] = fake.token_of(held)
    return f"{address.path}?{urlencode(query)}"


def knock(address: str) -> int:
    return Client().get(address.replace(HOST, "")).status_code


@pytest.mark.long
@pytest.mark.parametrize("audience", ["url", "origin", "list"])
def test_a_documented_token_is_accepted(fake, signed, audience):
    fake.mode(audience=audience, organisation=True)
    arrival = fake.arrive(signed.external_id, IDA)
    assert knock(arrival["url"]) == 200
    _session, seat = arrive(fake, signed, BO)
    assert Submission.objects.get().verified is True
    assert seat.status == "arrived"


@pytest.mark.long
@pytest.mark.parametrize(
    "claims",
    [
        {"aud": "https://elsewhere.example/join/x/"},
        {"aud": ["https://elsewhere.example", "http://testserver.evil.example/"]},
        {"aud": 7},
        {"aud": "http://[broken"},
        {"iss": "https://www.prolific.example"},
        {"iss": None},
        {"sub": "c" * 24},
        {"sub": None},
        {"prolific": None},
        {"prolific": "PROLIFIC_PID"},
        {"exp": int(time.time()) - 24 * 3600},
    ],
)
def test_a_token_with_a_wrong_claim_is_refused(fake, signed, claims):
    url = fake.arrive(signed.external_id, IDA)["url"]
    assert knock(signed_anew(fake, url)) == 200
    assert knock(signed_anew(fake, url, **claims)) == 403


def test_a_token_signed_by_another_key_is_refused(fake, signed):
    url = fake.arrive(signed.external_id, IDA)["url"]
    token = parse_qs(urlsplit(url).query)["prolific_token"][0]
    claims = jwt.decode(token, options={"verify_signature": False})
    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    forged = jwt.encode(claims, key, "RS256", headers=jwt.get_unverified_header(token))
    assert knock(url.replace(token, forged)) == 403


def test_tokens_tolerate_half_a_minute_of_clock_difference(fake, signed):
    url = fake.arrive(signed.external_id, IDA)["url"]
    soon = int(time.time()) + adapter.LEEWAY - 15
    assert knock(signed_anew(fake, url, iat=soon, exp=soon + 120)) == 200
    later = int(time.time()) + 10 * adapter.LEEWAY
    assert knock(signed_anew(fake, url, iat=later, exp=later + 120)) == 403


@pytest.mark.long
@pytest.mark.parametrize("stolen", ["SESSION_ID", "STUDY_ID"])
def test_a_signed_value_cannot_replace_another(fake, signed, stolen):
    address = urlsplit(fake.arrive(signed.external_id, IDA)["url"])
    query = {name: values[0] for name, values in parse_qs(address.query).items()}
    query["PROLIFIC_PID"] = query[stolen]
    assert Client().post(f"{address.path}start/?{urlencode(query)}").status_code == 403
    assert not Participation.objects.exists()


@pytest.mark.long
@pytest.mark.parametrize("claim", ["swapped", "missing", "twice"])
def test_each_id_must_match_its_own_claim(fake, signed, claim):
    arrival = fake.arrive(signed.external_id, IDA)
    ids = {
        "PROLIFIC_PID": IDA,
        "STUDY_ID": signed.external_id,
        "SESSION_ID": arrival["session_id"],
        "workspace_id": "c" * 24,
    }
    if claim == "swapped":
        ids |= {"PROLIFIC_PID": ids["SESSION_ID"], "SESSION_ID": IDA}
    elif claim == "missing":
        ids["participant"] = ids.pop("PROLIFIC_PID")
    else:
        ids["prolific_pid"] = BO
    assert knock(signed_anew(fake, arrival["url"], prolific=ids)) == 403


# Plain -------------------------------------------------------------------------------------------


def plain(on_prolific, person=IDA, session="d" * 24) -> str:
    ids = {"PROLIFIC_PID": person, "STUDY_ID": on_prolific.external_id, "SESSION_ID": session}
    return f"{reverse('start', args=[on_prolific.code])}?{urlencode(ids)}"


def test_signing_is_off_unless_it_is_asked_for(fake, published):
    assert not published.signed
    assert "prolific_token" not in fake.arrive(published.external_id, IDA)["url"]


@pytest.mark.long
def test_an_id_in_upper_or_lower_case_is_one_worker(fake, published):
    browser, session = Client(), "cd" * 12
    for spelling in ("ab" * 12, "AB" * 12, "aB" * 12):
        reply = browser.post(plain(published, spelling, session))
        session = session.upper()
        assert reply.status_code == 302
    assert Worker.objects.count() == Submission.objects.count() == 1


def test_plain_ids_are_confirmed_by_prolific_and_then_paid(fake, published):
    arrival = fake.arrive(published.external_id, IDA)
    address = urlsplit(arrival["url"])
    fake.mode(fail_next=1000)  # an arrival does not call Prolific
    assert Client().post(f"{address.path}start/?{address.query}").status_code == 302
    fake.mode(fail_next=0)
    seat = Participation.objects.get()
    begin(seat)
    factories.work_through(seat)
    ledger.settle_ended(published.study)
    assert batches.prepare(published.study, None) == []  # Prolific has not confirmed it yet
    sync.sync_all()
    assert Submission.objects.get().verified is True
    (batch,) = batches.prepare(published.study, None)
    assert batch.method == "approval"


def an_hour_later() -> None:
    """Move every arrival back by an hour."""
    Submission.objects.update(arrived_at=F("arrived_at") - timedelta(hours=1))


@pytest.mark.long
@pytest.mark.parametrize(
    "forged", ["an unknown submission", "another person's", "of another study"]
)
def test_an_unconfirmed_arrival_is_flagged_and_not_paid(
    fake, published, study, researcher, ada, forged
):
    session = "d" * 24
    if forged == "another person's":
        session = fake.arrive(published.external_id, BO)["session_id"]
    elif forged == "of another study":
        other = factories.make_study(
            researcher, factories.make_task(name="other"), shots=[2], currency="GBP"
        )
        (elsewhere,) = drafts.plan(other, 0, researcher)
        studies.create(elsewhere, HOST)
        session = fake.arrive(elsewhere.external_id, IDA)["session_id"]
    Client().post(plain(published, IDA, session))
    seat = Participation.objects.get()
    begin(seat)
    factories.work_through(seat)
    an_hour_later()
    sync.sync_all()
    seat.refresh_from_db()
    assert (Submission.objects.get().verified, seat.is_paid) == (False, False)
    assert batches.prepare(study, None) == []
    page = ada.get(reverse("participation", args=[study.name, seat.pseudonym])).content.decode()
    assert "does not confirm" in page
    platforms = ada.get(reverse("platforms", args=[study.name]), follow=True).content.decode()
    assert "did not confirm these submissions" in platforms
    assert seat.pseudonym in platforms
    decide = reverse("participation_decide", args=[study.name, seat.pseudonym])
    ada.post(decide, {"about": "pay", "outcome": "yes", "reason": "I know who it is"})
    (batch,) = batches.prepare(study, None)
    assert batch.method == "hand"  # Prolific cannot pay an unknown participant


def test_a_submission_belongs_to_one_person(fake, published):
    """Otherwise, each invented id with it would take a seat, and Prolific would not be asked."""
    session, seat = arrive(fake, published)
    reply = Client().post(plain(published, BO, session))
    assert (reply.status_code, reply.context["landing"]["state"]) == (409, "elsewhere")
    assert (Participation.objects.get(), Worker.objects.count()) == (seat, 1)
    assert Submission.objects.get().participation == seat


def in_two_parts(study, researcher):
    """Create the study on Prolific in two parts, and return both."""
    drafts.plan(study, 1, researcher)
    for part in (1, 2):
        studies.create(study.prolific_studies.get(part=part), HOST)
    return study.prolific_studies.order_by("part")


@pytest.mark.long
def test_part_two_in_another_browser_continues_by_personal_link(fake, study, researcher):
    """A plain id gives no access to started work, but its owner can still continue it."""
    first, second = in_two_parts(study, researcher)
    session, seat = arrive(fake, first)
    begin(seat)
    factories.work_through(seat, limit=2)
    factories.go_on(seat.token)
    seat.refresh_from_db()
    assert seat.status == "between"
    page = Client().get(reverse("work", args=[seat.token])).content.decode()
    assert "You are paid for this part through Prolific" in page
    fake.complete(session, first.codes["completed"])
    arrival = fake.arrive(second.external_id, IDA)
    address = urlsplit(arrival["url"])
    reply = Client().post(f"{address.path}start/?{address.query}")
    assert (reply.status_code, seat.token in reply.content.decode()) == (409, False)
    assert "your personal link works" in reply.content.decode()
    submissions.verify(study, prolific_client.Client(), submissions.SyncReport())
    seat.refresh_from_db()
    assert (seat.status, seat.part) == ("working", 2)
    assert Submission.objects.filter(participation=seat, verified=True).count() == 2
    # The id alone still gives no access.
    again = Client().post(f"{address.path}start/?{address.query}")
    assert (again.status_code, seat.token in again.content.decode()) == (409, False)
    factories.work_through(seat)
    assert seat.latest_submission().prolific_study == second


@pytest.mark.long
def test_an_invented_submission_is_not_linked_to_a_participation(fake, study, researcher):
    first, second = in_two_parts(study, researcher)
    _session, seat = arrive(fake, first)
    query = f"PROLIFIC_PID={IDA}&STUDY_ID={second.external_id}&SESSION_ID={'e' * 24}"
    assert Client().post(reverse("start", args=[second.code]) + f"?{query}").status_code == 409
    submissions.verify(study, prolific_client.Client(), submissions.SyncReport())
    seat.refresh_from_db()
    assert (seat.part, seat.is_paid, seat.submissions.count()) == (1, True, 1)


def arrives_before_prolific_knows(fake, published, owner=IDA) -> tuple[str, Participation]:
    """Arrive and work while Prolific's API answers 404 for the submission.

    If `owner` is another person, the participant uses a submission that isn't theirs.
    """
    fake.mode(lists=False)
    arrival = fake.arrive(published.external_id, owner)
    address = urlsplit(arrival["url"].replace(owner, IDA))
    Client().post(f"{address.path}start/?{address.query}")
    seat = Participation.objects.get()
    begin(seat)
    factories.work_through(seat)
    fake.complete(arrival["session_id"], published.codes["completed"])
    return arrival["session_id"], seat


def look(fake, published, seat) -> tuple[bool | None, bool]:
    """Sync; return whether the submission is confirmed, and whether the seat is paid."""
    sync.sync(published.study)
    seat.refresh_from_db()
    return seat.submissions.get().verified, seat.is_paid


@pytest.mark.long
def test_an_arrival_before_prolific_lists_it_is_not_flagged(fake, published):
    _session, seat = arrives_before_prolific_knows(fake, published)
    assert look(fake, published, seat) == (None, True)
    assert batches.prepare(published.study, None) == []
    fake.mode(lists=True)
    assert look(fake, published, seat) == (True, True)
    assert not seat.decisions.filter(about="pay").exists()
    assert len(batches.prepare(published.study, None)) == 1


@pytest.mark.long
def test_a_late_confirmation_releases_the_pay(fake, published):
    _session, seat = arrives_before_prolific_knows(fake, published)
    an_hour_later()
    assert look(fake, published, seat) == (False, False)
    assert look(fake, published, seat) == (False, False)
    assert seat.decisions.filter(about="pay").count() == 1
    fake.mode(lists=True)
    assert look(fake, published, seat) == (True, True)
    assert "confirmed" in seat.decisions.last().reason
    (batch,) = batches.prepare(published.study, None)
    assert batch.method == "approval"


@pytest.mark.long
@pytest.mark.parametrize("words", [["yes"], ["yes", "no"]])
def test_a_payers_decision_survives_a_late_confirmation(fake, published, ada, words):
    _session, seat = arrives_before_prolific_knows(fake, published)
    an_hour_later()
    look(fake, published, seat)
    decide = reverse("participation_decide", args=[published.study.name, seat.pseudonym])
    for word in words:
        ada.post(decide, {"about": "pay", "outcome": word, "reason": "I looked into it"})
    fake.mode(lists=True)
    assert look(fake, published, seat) == (False, words[-1] == "yes")


@pytest.mark.long
def test_a_late_confirmation_does_not_pay_a_rejected_submission(fake, published):
    session, seat = arrives_before_prolific_knows(fake, published)
    an_hour_later()
    look(fake, published, seat)
    fake.mode(lists=True)
    reject_there(fake, session)
    submissions.sync_submission(session)
    assert look(fake, published, seat) == (True, False)
    change_there(fake, session, "UNREJECT")
    assert look(fake, published, seat) == (True, True)


@pytest.mark.long
def test_an_undone_rejection_does_not_confirm_an_arrival(fake, published):
    _session, seat = arrives_before_prolific_knows(fake, published, owner=BO)
    Submission.objects.update(status="REJECTED")
    ledger.decide(seat, False, submissions.REJECTED, None)
    an_hour_later()
    assert look(fake, published, seat) == (False, False)
    fake.mode(lists=True)
    assert look(fake, published, seat) == (False, False)
