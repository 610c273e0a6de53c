"""The webhooks of the fake Prolific: signed, repeated, given up, out of order on demand."""

import base64
import hashlib
import hmac
import json
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from annotation.simulation.fake_prolific import hooks
from annotation.simulation.fake_prolific.hooks import DISABLED_AFTER, RETRY_DELAYS
from annotation.simulation.fake_prolific.platform import FakeProlific
from tests.annotation.prolific_http import ANN, Http, arrive, come_back, published


@pytest.fixture
def fake():
    return FakeProlific()


@pytest.fixture
def api(fake):
    with fake.serve() as server:
        yield Http(server.url)


class Listener:
    """A server that keeps what it is sent; `answers` are the statuses of the next replies."""

    def __init__(self):
        self.got, self.answers = [], []
        listener = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self):
                raw = self.rfile.read(int(self.headers["Content-Length"]))
                listener.got.append((dict(self.headers), raw))
                self.send_response(listener.answers.pop(0) if listener.answers else 200)
                self.send_header("Location", "/elsewhere")
                self.send_header("Content-Length", "0")
                self.end_headers()

            def do_GET(self):  # where a redirect would lead
                self.send_response(200)
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, *unused):
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        self.url = f"http://127.0.0.1:{self.server.server_port}/hook/"

    def events(self):
        return [json.loads(raw) for _, raw in self.got]

    def statuses(self):
        return [event["status"] for event in self.events()]

    def ids(self):
        return [headers["X-Event-Id"] for headers, _ in self.got]


@pytest.fixture
def listener():
    listener = Listener()
    yield listener
    listener.server.shutdown()
    listener.server.server_close()


def subscribed(api, listener, event_type="submission.status.change"):
    (workspace,) = (each["id"] for each in api.get("workspaces/")["results"])
    kept = api.get(f"hooks/secrets/?workspace_id={workspace}")["results"]
    secrets = kept or [api.post("hooks/secrets/", {"workspace_id": workspace})]
    asked = {"workspace_id": workspace, "event_type": event_type, "target_url": listener.url}
    status, subscription, headers = api("POST", "hooks/subscriptions/", asked)
    assert status == 201
    path = f"hooks/subscriptions/{subscription['id']}/"
    api.post(path, {"secret": headers["X-Hook-Secret"]})
    return secrets[0]["value"], path


def test_every_change_of_status_is_sent_and_signed(api, fake, listener):
    secret, _ = subscribed(api, listener)
    session = arrive(api, published(api), ANN)
    come_back(api, session, "DONE")
    fake.flush_webhooks()
    assert listener.events() == [
        {
            "resource_id": session,
            "event_type": "submission.status.change",
            "participant_id": ANN,
            "status": status,
        }
        for status in ("ACTIVE", "APPROVED")
    ]
    for headers, raw in listener.got:
        signed = headers["X-Prolific-Request-Timestamp"].encode() + raw
        digest = hmac.new(secret.encode(), signed, hashlib.sha256).digest()
        assert headers["X-Prolific-Request-Signature"] == base64.b64encode(digest).decode()
        assert abs(int(headers["X-Prolific-Request-Timestamp"]) - time.time()) < 60
    assert len(set(listener.ids())) == 2


def test_a_subscription_sends_after_it_is_confirmed_and_until_it_is_deleted(api, fake, listener):
    workspace = fake.first_workspace
    asked = {"workspace_id": workspace, "event_type": "study.status.change"}
    asked["target_url"] = listener.url
    assert "secret" in api.refused("POST", "hooks/subscriptions/", asked)
    api.post("hooks/secrets/", {"workspace_id": workspace})
    _, subscription, headers = api("POST", "hooks/subscriptions/", asked)
    assert "hook_secret" not in json.dumps(api.get("hooks/subscriptions/"))
    path = f"hooks/subscriptions/{subscription['id']}/"
    published(api)
    api.refused("POST", path, {"secret": "guessed"})
    fake.flush_webhooks()
    assert listener.got == []
    assert api.post(path, {"secret": headers["X-Hook-Secret"]})["is_enabled"]
    published(api)
    fake.flush_webhooks()
    assert len(listener.got) == 1
    assert api("DELETE", path)[0] == 204
    published(api)
    fake.flush_webhooks()
    assert len(listener.got) == 1
    assert api.get("hooks/subscriptions/")["results"] == []


def test_a_webhook_comes_again_with_the_same_id_until_it_is_taken(api, fake, listener):
    subscribed(api, listener)
    listener.answers = [500, 302]
    arrive(api, published(api), ANN)
    fake.flush_webhooks()
    assert listener.statuses() == ["ACTIVE"] * 3
    assert len(set(listener.ids())) == 1


def test_webhooks_can_come_in_reverse_when_they_are_let_go(api, fake, listener):
    subscribed(api, listener)
    api.post("/fake/mode", {"webhooks": "reverse"})
    session = arrive(api, published(api), ANN)
    come_back(api, session, "LOOK")
    api.post(f"submissions/{session}/transition/", {"action": "APPROVE"})
    assert listener.got == []
    api.post("/fake/flush_webhooks")
    assert listener.statuses() == ["APPROVED", "AWAITING REVIEW", "ACTIVE"]


def test_a_webhook_is_tried_twelve_times_and_its_target_given_up_after_five_days(
    api, fake, listener, monkeypatch
):
    assert len(RETRY_DELAYS) == 11
    monkeypatch.setattr(hooks, "RETRY_DELAYS", (0,) * 11)
    _, path = subscribed(api, listener, "study.status.change")
    listener.answers = [500] * 99
    published(api)
    fake.flush_webhooks()
    assert len(listener.got) == 12
    assert [each["status"] for each in api.get(f"{path}events/")["results"]] == ["FAILED"]
    assert api.get(path)["is_enabled"]
    fake.advance(DISABLED_AFTER)
    published(api)
    fake.flush_webhooks()
    assert not api.get(path)["is_enabled"]
    published(api)
    fake.flush_webhooks()
    assert len(listener.got) == 24
