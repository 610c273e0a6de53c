"""Odd replies from Prolific raise one kind of error, block no other work and repeat no payment."""

import json
import threading
import time
from collections.abc import Callable
from datetime import timedelta

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from annotation.models import Participation, PaymentBatch, Submission
from annotation.pay import ledger
from annotation.payout import batches
from annotation.payout import payments as payout
from annotation.prolific import client as prolific_client
from annotation.prolific import sync
from annotation.prolific.client import ProlificError
from tests.annotation.prolific.fixtures import (
    BO,
    IDA,
    arrive,
    begin,
    complete,
    pay_all,
)
from tests.prolific_double.site import Server

MAINTENANCE = b"<html>We are down for maintenance.</html>"
DEEP = b"[" * 100_000


class Oddly:
    """A proxy before the double, which changes replies by `answers(method, path, reply)`."""

    def __init__(self, site: Callable, answers: Callable):
        self.site, self.answers = site, answers

    def __call__(self, environ, start_response):
        told = {}
        body = b"".join(self.site(environ, lambda status, headers: told.update(status=status)))
        path = environ["PATH_INFO"].removeprefix("/api/v1/")
        changed_to = self.answers(environ["REQUEST_METHOD"], path, body)
        status, body = changed_to or (int(told["status"].split()[0]), body)
        start_response(f"{status} So", [("Content-Length", str(len(body)))])
        return [body]


@pytest.fixture
def odd(fake, settings):
    """Return a function that changes Prolific's replies, except where `answers` returns None."""
    servers = []

    def begin_to(answers):
        servers.append(Server(Oddly(fake.app, answers)))
        settings.PROLIFIC_URL = servers[-1].url

    yield begin_to
    for server in servers:
        server.close()


def everywhere(status: int, body: bytes):
    return lambda method, path, reply: (status, body)


CALLS = {
    "me": lambda client: client.me(),
    "workspace": lambda client: client.workspace(),
    "currency": lambda client: client.currency("w"),
    "recommendations": lambda client: client.minimum_hourly("w", "GBP"),
    "keys": lambda client: client.signing_keys(),
    "create": lambda client: client.create_study({}),
    "study": lambda client: client.study("s"),
    "publish": lambda client: client.transition("s", "PUBLISH"),
    "list": lambda client: list(client.submissions("s")),
    "submission": lambda client: client.submission("s"),
    "bonuses": lambda client: client.prepare_bonuses("s", [("a", "1.00")]),
    "group": lambda client: client.group("g"),
    "new group": lambda client: client.create_group("g", "w"),
}


@pytest.mark.parametrize("call", CALLS)
def test_every_unexpected_reply_is_a_prolific_error(odd, call):
    bodies = [MAINTENANCE, b"null", b'"yes"', b"7", DEEP, b"", b'{"results": null, "status": null}']
    bodies += [b'{"results": [7], "id": 7, "status": []}']
    for body in bodies:
        if (call, body) == ("keys", bodies[-1]):
            continue  # any object is accepted
        if call in ("keys", "publish") and body.startswith(b"{"):
            continue
        if call == "list" and body == bodies[-1]:
            continue  # rows are checked when they are used
        odd(everywhere(200, body))
        with pytest.raises(ProlificError):
            CALLS[call](prolific_client.Client())


@pytest.mark.parametrize("status", [301, 400, 401, 403, 404, 409, 429, 499, 500, 503])
def test_only_prolifics_error_format_counts_as_refused(odd, status):
    own = json.dumps({"error": {"status": status, "title": "No", "detail": "no funds"}}).encode()
    for body, is_refused in ((own, status in (400, 403, 404)), (MAINTENANCE, False), (b"", False)):
        odd(everywhere(status, body))
        with pytest.raises(ProlificError) as refused:
            prolific_client.Client().pay_bonuses("b")
        assert (refused.value.refused, refused.value.unreachable) == (is_refused, False)


def test_a_missing_reply_is_reported_as_unreachable(fake, settings):
    settings.PROLIFIC_URL = "http://127.0.0.1:9"
    with pytest.raises(ProlificError) as missing:
        prolific_client.Client().me()
    assert missing.value.unreachable
    assert not missing.value.refused


def test_the_token_is_sent_to_no_other_host_and_lists_end(fake, published, odd):
    fake.arrive(published.external_id, IDA)
    asked = []

    def leads_away(method, path, reply):
        page = json.loads(reply)
        again = f"https://evil.example/api/v1/submissions/?study={published.external_id}"
        page["_links"] = {"next": {"href": again}}
        asked.append(path)
        return 200, json.dumps(page).encode()

    odd(leads_away)
    with pytest.raises(ProlificError, match="cyclic"):
        list(prolific_client.Client().submissions(published.external_id))
    assert set(asked) == {"submissions/"}


def test_one_call_at_a_time_for_each_process(fake, odd):
    at_once, most = [], []

    def counts(method, path, reply):
        at_once.append(1)
        most.append(len(at_once))
        time.sleep(0.05)
        at_once.pop()

    odd(counts)
    threads = [threading.Thread(target=prolific_client.Client().me) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (len(most), max(most)) == (4, 1)


# A single invalid row ----------------------------------------------------------------------------


def rows_changed(**fields):
    """Return a function for `odd` that changes fields of the first submission in the list."""

    def answers(method, path, reply):
        if path != "submissions/" or method != "GET":
            return None
        page = json.loads(reply)
        page["results"][0] |= fields
        return 200, json.dumps(page).encode()

    return answers


@pytest.mark.long
@pytest.mark.parametrize(
    "fields",
    [
        {"status": None},
        {"status": 7},
        {"id": None},
        {"status": ""},
        {"return_requested": 7},
        {"return_requested": "not a time"},
        {"status": "A STATUS THAT PROLIFIC INVENTS NEXT YEAR, AND A LONG ONE"},
    ],
)
def test_one_malformed_row_does_not_stop_the_others(fake, study, published, odd, ada, fields):
    complete(fake, published)
    session, seat = arrive(fake, published, BO)
    fake.return_submission(session)
    odd(rows_changed(**fields))
    told = sync.sync(study)
    seat.refresh_from_db()
    assert (seat.status, seat.seat_number) == ("returned", None)
    if fields.get("status", "x") in (None, 7, "") or "id" in fields:
        assert "A small study" in told.problems[0]
        with pytest.raises(sync.NotSynced):
            sync.sync_all()
        reply = ada.post(reverse("prolific_sync", args=[study.name]), follow=True)
        assert "Not synced" in reply.content.decode()
    prepared = ada.post(reverse("pay", args=[study.name]), {"action": "prepare"})
    assert prepared.status_code == 302


@pytest.mark.long
@pytest.mark.parametrize("body", [MAINTENANCE, b"null", b'{"results": null}'])
def test_pages_answer_if_prolific_sends_an_unreadable_study(fake, study, published, odd, ada, body):
    complete(fake, published)
    odd(lambda method, path, reply: (200, body))
    for address in ("prolific_sync", "pay"):
        reply = ada.post(reverse(address, args=[study.name]), {"action": "prepare"})
        assert reply.status_code in (302, 409)


def test_a_long_status_is_truncated(fake, study, published, odd):
    complete(fake, published)
    odd(rows_changed(status="x" * 200))
    assert sync.sync(study).problems == []
    assert Submission.objects.get().status == "X" * 20


# Money -------------------------------------------------------------------------------------------


@pytest.fixture
def bonus(fake, study, published) -> PaymentBatch:
    """A prepared batch with one bonus of 1.00."""
    seat = complete(fake, published)
    ledger.add_bonus(seat, 100, "thanks", None)
    batches.prepare(study, None)
    return PaymentBatch.objects.get(method="bonus")


def paid(fake) -> int:
    return sum(account["paid_cents"] for account in fake.books().values())


@pytest.mark.long
@pytest.mark.parametrize(
    ("status", "body"),
    [
        (200, MAINTENANCE),
        (200, b""),
        (400, MAINTENANCE),
        (404, b"Not Found"),
        (408, b'{"error": {"detail": "too slow"}}'),
        (409, b'{"error": {"detail": "at it"}}'),
        (425, b'{"error": {"detail": "too early"}}'),
        (429, b'{"error": {"detail": "too many"}}'),
        (499, b""),
        (502, MAINTENANCE),
    ],
)
def test_an_unclear_reply_to_a_payment_is_looked_up(fake, bonus, odd, status, body):
    """Prolific pays, but its reply doesn't say so."""
    odd(lambda method, path, reply: (status, body) if path.endswith("/pay/") else None)
    with pytest.raises(ProlificError):
        payout.pay_batch(bonus)
    bonus.refresh_from_db()
    assert bonus.state == "paying"
    payout.pay_batch(bonus)
    assert (bonus.state, paid(fake)) == ("paid", 100)


@pytest.mark.long
@pytest.mark.parametrize("status", [400, 402, 403, 404, 422])
def test_a_refused_batch_can_be_paid_again(fake, bonus, status):
    fake.modes["fail_with"] = status
    bonus.external_id = prolific_client.Client().prepare_bonuses(
        bonus.prolific_study.external_id, payout.bonus_lines(bonus)
    )
    bonus.save()
    fake.mode(fail_next=1)
    with pytest.raises(ProlificError):
        payout.pay_batch(bonus)
    bonus.refresh_from_db()
    assert bonus.state == "prepared"
    payout.pay_batch(bonus)
    assert paid(fake) == 100


@pytest.mark.long
@pytest.mark.parametrize("shown", [None, 7, "1.00", [None], {"a": 1}])
def test_invalid_bonus_amounts_do_not_count_as_paid(fake, bonus, odd, shown):
    long_ago = timezone.now() - timedelta(days=1)
    PaymentBatch.objects.filter(pk=bonus.pk).update(state="paying", paying_since=long_ago)

    def answers(method, path, reply):
        if method == "GET" and path.startswith("submissions/"):
            return 200, json.dumps({**json.loads(reply), "bonus_payments": shown}).encode()
        return None

    odd(answers)
    if shown is not None:
        with pytest.raises(ProlificError, match="list of the bonuses"):
            payout.pay_batch(bonus)
        assert paid(fake) == 0


@pytest.mark.long
def test_approvals_are_made_together_and_bonuses_in_batches(fake, study, published, monkeypatch):
    monkeypatch.setattr(batches, "MAX_BONUSES", 1)
    asked = []

    class Counting(prolific_client.Client):
        def _send(self, method, path, *rest):
            asked.append(f"{method} {path}")
            return super()._send(method, path, *rest)

    for person in (IDA, BO):
        ledger.add_bonus(complete(fake, published, person), 50, "thanks", None)
    sync.sync(study)
    results = pay_all(study, Counting())
    assert results == ["approval: paid", "bonus: paid", "bonus: paid"]
    assert asked.count("POST submissions/bulk-approve/") == 1
    assert not [path for path in asked if path.endswith("/transition/")]
    assert paid(fake) == 2 * published.reward_cents + 100


# Annotators --------------------------------------------------------------------------------------


@pytest.mark.long
def test_an_annotator_does_not_wait_for_prolific(fake, study, signed, settings):
    address = fake.arrive(signed.external_id, BO)["url"].replace("http://testserver", "")
    settings.PROLIFIC_URL = "http://127.0.0.1:9"  # a closed port
    assert Client().get(address).status_code == 200
    path, _, query = address.partition("?")
    started = Client().post(f"{path}start/?{query}")
    assert started.status_code == 302
    begin(Participation.objects.latest("pk"))
    assert Client().get(started.url).status_code == 200
