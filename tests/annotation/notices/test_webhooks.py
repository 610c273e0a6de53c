"""Each event is sent once, signed, and only to public addresses; failures are retried."""

import base64
import hashlib
import hmac
import json
import socket
import threading
import time
from datetime import timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from django.contrib.auth.models import User
from django.core.management import call_command
from django.db import IntegrityError, transaction
from django.urls import reverse
from django.utils import timezone

from annotation.accounts import closing as accounts
from annotation.models import Delivery, Event, Notice, Webhook
from annotation.notices import collecting, sending, webhooks
from annotation.study import lifecycle, team
from tasks import periodic
from tests import factories
from tests.annotation.study.test_api_studies import Program


class Receiver:
    """A server that stores the requests it receives, and replies with `status`."""

    def __init__(self):
        self.received, self.status, self.location = [], 200, ""
        receiver = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self):
                length = int(self.headers["Content-Length"])
                receiver.received.append((dict(self.headers), self.rfile.read(length), self.path))
                self.send_response(receiver.status)
                if receiver.location:
                    self.send_header("Location", receiver.location)
                self.send_header("Content-Length", "0")
                self.end_headers()

            do_GET = do_POST

            def log_message(self, *_args):
                """Print nothing."""

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        self.place = f"127.0.0.1:{self.server.server_port}"
        self.url = f"http://{self.place}/hook?a=1"


@pytest.fixture
def receiver():
    receiver = Receiver()
    yield receiver
    receiver.server.shutdown()
    receiver.server.server_close()


@pytest.fixture
def study(researcher, settings, receiver):
    settings.WEBHOOK_HOSTS = [receiver.place]
    return factories.make_study(
        researcher, factories.make_task(), shots=[2], annotators=1, name="pilot"
    )


def make(study, receiver, *events: str):
    body = {"url": receiver.url, "events": list(events or Event.values)}
    made = Program(study.owner).post("/studies/pilot/webhooks/", body)
    assert made.status_code == 201, made.json()
    return made.json()


def told(receiver) -> list[dict]:
    return [json.loads(body) for _headers, body, _path in receiver.received]


def later(**time) -> None:
    Delivery.objects.update(next_at=timezone.now() - timedelta(**(time or {"seconds": 1})))


@pytest.mark.long
def test_each_event_is_delivered_once_and_signed(study, receiver):
    made = make(study, receiver)
    factories.work_through(factories.seat(study.scenarios.get()))
    lifecycle.change_status(study, "pause", study.owner)
    for _run in range(2):
        call_command("run_jobs", verbosity=0)
    assert sorted(event["type"] for event in told(receiver)) == [
        "participation.finished", "scenario.filled", "study.paused",
    ]  # fmt: skip
    lifecycle.change_status(study, "close", study.owner)
    call_command("run_jobs", verbosity=0)
    assert [event["type"] for event in told(receiver)][3:] == ["study.closed"]
    headers, body, path = receiver.received[0]
    assert path == "/hook?a=1"
    key = base64.b64decode(made["secret"].removeprefix("whsec_"))
    signed = f"{headers['webhook-id']}.{headers['webhook-timestamp']}.".encode() + body
    digest = base64.b64encode(hmac.new(key, signed, hashlib.sha256).digest()).decode()
    assert headers["webhook-signature"] == f"v1,{digest}"
    assert abs(int(headers["webhook-timestamp"]) - timezone.now().timestamp()) < 100
    assert json.loads(body)["id"] == headers["webhook-id"]
    assert json.loads(body)["study"] == "pilot"


@pytest.mark.long
def test_older_and_unrequested_events_are_not_sent(study, receiver):
    factories.work_through(factories.seat(study.scenarios.get()))
    make(study, receiver, "participation.finished", "study.closed")
    lifecycle.change_status(study, "pause", study.owner)
    call_command("run_jobs", verbosity=0)
    assert told(receiver) == []


def test_a_failed_delivery_is_repeated_with_the_same_id(study, receiver):
    make(study, receiver, "study.paused")
    lifecycle.change_status(study, "pause", study.owner)
    receiver.status = 500
    webhooks.collect()
    assert sending.send_due() == 0
    assert sending.send_due() == 0  # the next attempt is not due yet
    assert len(receiver.received) == 1
    receiver.status = 204
    later()
    assert sending.send_due() == 1
    assert len({headers["webhook-id"] for headers, _body, _path in receiver.received}) == 1
    later()
    assert sending.send_due() == 0
    delivery = Delivery.objects.get()
    assert (delivery.state, delivery.attempts, delivery.last_status) == ("delivered", 2, 204)
    (row,) = Program(study.owner).get(
        f"/studies/pilot/webhooks/{delivery.webhook_id}/deliveries/"
    ).json()["results"]  # fmt: skip
    assert (row["id"], row["state"]) == (str(delivery.key), "delivered")


class Dripping:
    """A receiver that accepts a request and then sends `piece` forever, or nothing at all."""

    def __init__(self, piece: bytes, pause: float):
        self.ended, self.socket = threading.Event(), socket.create_server(("127.0.0.1", 0))
        self.place = f"127.0.0.1:{self.socket.getsockname()[1]}"
        self.url, self.piece, self.pause = f"http://{self.place}/", piece, pause
        self.connections = 0
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self) -> None:
        while not self.ended.is_set():
            connection, _peer = self.socket.accept()
            self.connections += 1
            threading.Thread(target=self._drip, args=[connection], daemon=True).start()

    def _drip(self, connection: socket.socket) -> None:
        try:
            while not self.ended.wait(self.pause):
                connection.sendall(self.piece)
        except OSError:
            connection.close()


@pytest.mark.parametrize(
    ("piece", "pause"),
    [(b"HTTP/1.1 100 Continue\r\n\r\n", 0.001), (b"x", 0.2), (b"", 0.2)],
    ids=["endless 100 Continue", "a byte now and then", "nothing"],
)
def test_a_delivery_has_a_time_limit(study, receiver, settings, monkeypatch, piece, pause):
    slow = Dripping(piece, pause)
    settings.WEBHOOK_HOSTS = [slow.place]
    monkeypatch.setattr(sending, "TIMEOUT", 1)
    began = time.monotonic()
    try:
        status = sending.post(slow.url, b"{}", {})
    except OSError:
        status = None
    assert time.monotonic() - began < 30  # without the limit, it never ends
    assert status in (None, 100)
    slow.ended.set()


@pytest.mark.long
def test_webhooks_alternate_and_a_failing_one_delays_only_itself(
    study, receiver, settings, monkeypatch
):
    dead = Dripping(b"", 0.2)
    settings.WEBHOOK_HOSTS = [receiver.place, dead.place]
    monkeypatch.setattr(sending, "TIMEOUT", 3)
    make(study, dead)
    make(study, receiver)
    factories.work_through(factories.seat(study.scenarios.get()))
    lifecycle.change_status(study, "pause", study.owner)
    webhooks.collect()
    assert sending.send_due() == 3
    assert dead.connections == 1  # one attempt at the dead receiver instead of three
    assert len(receiver.received) == 3
    tried = Delivery.objects.filter(webhook__url=dead.url).order_by("pk")
    assert list(tried.values_list("attempts", flat=True)) == [1, 0, 0]
    assert not tried.filter(next_at__lte=timezone.now() + timedelta(seconds=30)).exists()
    dead.ended.set()


@pytest.mark.long
def test_a_run_has_a_time_limit(study, receiver, monkeypatch):
    monkeypatch.setattr(sending, "RUN", 0)
    make(study, receiver)
    lifecycle.change_status(study, "pause", study.owner)
    webhooks.collect()
    assert sending.send_due() == 0
    assert receiver.received == []


def test_webhooks_are_the_last_part_of_the_tick():
    assert list(periodic.all_parts())[-1] == "webhooks"


def test_a_delivery_fails_after_the_last_attempt(study, receiver):
    make(study, receiver, "study.paused")
    lifecycle.change_status(study, "pause", study.owner)
    webhooks.collect()
    receiver.server.shutdown()
    receiver.server.server_close()
    for attempt in range(len(sending.GAPS) + 1):
        assert Delivery.objects.get().attempts == attempt
        sending.send_due()
        later()
    delivery = Delivery.objects.get()
    assert delivery.state == "failed"
    assert "Refused" in delivery.last_error
    assert sending.send_due() == 0


def test_a_redirect_is_a_failure_and_is_not_followed(study, receiver):
    other = Receiver()
    make(study, receiver, "study.paused")
    receiver.status, receiver.location = 302, other.url
    lifecycle.change_status(study, "pause", study.owner)
    webhooks.collect()
    assert sending.send_due() == 0
    assert other.received == []
    assert Delivery.objects.get().last_status == 302
    other.server.server_close()


PRIVATE = [
    "127.0.0.1", "10.1.2.3", "192.168.0.1", "172.16.0.1", "169.254.169.254", "0.0.0.0",
    "100.64.0.1", "224.0.0.1", "255.255.255.255", "::1", "::", "fe80::1", "fc00::1", "ff02::1",
    "::ffff:127.0.0.1", "::ffff:10.0.0.1", "64:ff9b::7f00:1", "2002:7f00:1::",
    "192.0.2.1", "198.18.0.1", "not an ip", "192.0.0.8", "192.88.99.1", "fec0::1", "3fff::1",
    "2620:4f:8000::1",
]  # fmt: skip


@pytest.mark.parametrize("place", PRIVATE)
def test_private_addresses_are_not_public(place):
    assert not sending.is_public(place)


@pytest.mark.parametrize("place", ["93.184.216.34", "2606:2800:220:1:248:1893:25c8:1946"])
def test_public_addresses_are_public(place):
    assert sending.is_public(place)


@pytest.mark.parametrize(
    "url",
    [
        "http://example.org/", "ftp://example.org", "https://", "https://u:p@example.org/",
        "https://example.org/#x", "https://example.org:99999/", "https://exa mple.org/",
        "https://ex\nample.org/", "javascript:alert(1)", "https://[::1", "//example.org", "x",
    ],
)  # fmt: skip
def test_an_invalid_url_is_422(study, url):
    reply = Program(study.owner).post(
        "/studies/pilot/webhooks/", {"url": url, "events": ["study.paused"]}
    )
    assert reply.status_code == 422
    assert not Webhook.objects.exists()


def test_an_unknown_event_is_named_in_the_list_of_messages(study, receiver):
    body = {"url": receiver.url, "events": ["study.paused", "nothing"]}
    reply = Program(study.owner).post("/studies/pilot/webhooks/", body).json()
    assert reply["fields"] == {"events": ['"nothing" is not a valid choice.']}
    assert reply["detail"] == '"nothing" is not a valid choice.'


def test_a_name_resolving_to_a_private_address_is_not_contacted(
    study, receiver, settings, monkeypatch
):
    """A single private address is enough, even if the name also resolves to a public one."""
    make(study, receiver, "study.paused")
    settings.WEBHOOK_HOSTS = []
    Webhook.objects.update(url=f"https://rebound.example:{receiver.server.server_port}/")
    inner = [(socket.AF_INET, socket.SOCK_STREAM, 6, "", ("127.0.0.1", 443))]
    public = [(socket.AF_INET, socket.SOCK_STREAM, 6, "", ("93.184.216.34", 443))]
    answers = iter([public + inner, inner])
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_a, **_k: next(answers))
    lifecycle.change_status(study, "pause", study.owner)
    webhooks.collect()
    for _lookup in range(2):
        sending.send_due()
        assert "not a public address" in Delivery.objects.get().last_error
        later()
    assert receiver.received == []


def test_the_database_stores_an_event_once(study, receiver):
    make(study, receiver)
    webhook = Webhook.objects.get()
    now = timezone.now()
    row = {
        "webhook": webhook, "event": "study.paused", "subject": "entry 1", "body": {},
        "next_at": now, "created_at": now,
    }  # fmt: skip
    Delivery.objects.create(**row)
    with pytest.raises(IntegrityError), transaction.atomic():
        Delivery.objects.create(**row)


def test_the_secret_is_shown_once_and_stored_encrypted(study, receiver):
    made = make(study, receiver)
    assert made["secret"] not in Webhook.objects.get().secret
    listed = Program(study.owner).get("/studies/pilot/webhooks/").json()["results"]
    assert "secret" not in listed[0]


def test_an_ended_webhook_receives_nothing(study, receiver):
    made = make(study, receiver)
    program = Program(study.owner)
    address = f"/api/v1/studies/pilot/webhooks/{made['id']}/"
    assert program.client.delete(address, headers=program.headers).status_code == 204
    lifecycle.change_status(study, "pause", study.owner)
    call_command("run_jobs", verbosity=0)
    assert receiver.received == []


# The webhook of a former owner -------------------------------------------------------------------


@pytest.fixture
def grace(study, other_researcher):
    """Another owner of the study, with a webhook."""
    study.members.create(user=other_researcher, role="owner")
    return other_researcher


def make_as(user, receiver) -> Webhook:
    body = {"url": receiver.url, "events": ["study.paused"]}
    made = Program(user).post("/studies/pilot/webhooks/", body).json()
    return Webhook.objects.get(pk=made["id"])


@pytest.mark.long
@pytest.mark.parametrize("how", ["removed", "analyst", "account closed", "closed in the database"])
def test_a_webhook_ends_with_its_maker(study, receiver, grace, how):
    make_as(grace, receiver)
    if how == "removed":
        team.remove(study, grace.username, study.owner)
    elif how == "analyst":
        team.change(study, grace.username, "analyst", study.owner, "owner")
    elif how == "account closed":
        accounts.close(grace)
    else:
        User.objects.filter(pk=grace.pk).update(is_active=False)
    lifecycle.change_status(study, "pause", study.owner)
    webhooks.collect_and_send()
    assert receiver.received == []
    assert not Webhook.objects.exists()
    entry = study.events.get(what__startswith="webhook ended")
    assert entry.what.endswith("because its creator is no longer an owner of the study")
    collecting.collect()
    told_to = Notice.objects.filter(about="webhook").values_list("user__username", flat=True)
    assert list(told_to) == [study.owner.username]


def test_nothing_is_sent_for_a_maker_who_left_the_team(study, receiver, grace):
    make_as(grace, receiver)
    lifecycle.change_status(study, "pause", study.owner)
    webhooks.collect()
    study.members.all().delete()
    assert sending.send_due() == 0
    assert receiver.received == []


def test_owners_see_and_end_webhooks_on_the_page_of_settings(ada, study, receiver, grace):
    webhook = make_as(grace, receiver)
    address = reverse("team", args=["pilot"])
    page = ada.get(address, follow=True).content.decode()
    assert receiver.url in page
    assert "none yet" in page
    ended = {"action": "end_webhook", "webhook": str(webhook.pk)}
    assert ada.post(address, ended).status_code == 302
    assert not Webhook.objects.exists()
    assert study.events.latest("pk").what == f"webhook ended: {webhook.pk}"
    assert ada.post(address, ended).status_code == 422


def test_a_webhook_of_another_study_is_not_ended(ada, study, receiver):
    other = factories.make_study(study.owner, study.tasks.get(), name="other", title="Other")
    webhook, _secret = webhooks.make(other, receiver.url, ["study.paused"], study.owner)
    fields = {"action": "end_webhook", "webhook": str(webhook.pk)}
    assert ada.post(reverse("team", args=["pilot"]), fields).status_code == 422
    assert Webhook.objects.exists()
