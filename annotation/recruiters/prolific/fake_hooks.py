"""The fake Prolific's webhooks: subscriptions, signatures, new attempts, disorder on demand."""

import base64
import hashlib
import hmac
import http.client
import json
import secrets
import threading
import time
import urllib.request
import uuid
from collections.abc import Callable
from typing import Any

from annotation.recruiters.prolific.fake_rules import FakeError

EVENT_TYPES = ("submission.status.change", "study.status.change")
RETRY_DELAYS = (0.05, 0.2, 0.5, 1, 2)  # seconds; Prolific tries for a day
TIMEOUT = 10  # seconds for one attempt


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    """A webhook that is led elsewhere was not delivered."""

    def redirect_request(self, *unused: Any) -> None:
        return None


_opener = urllib.request.build_opener(_NoRedirects, urllib.request.ProxyHandler({}))


class Webhooks:
    """A queue of deliveries, emptied by a thread that lives as long as there is something to send.

    Shares lock and data of the books, so that an event is kept with what caused it.
    """

    def __init__(
        self,
        lock: threading.RLock,
        data: dict[str, Any],
        wall: Callable[[], float],
        modes: dict[str, Any],
    ):
        self._changed = threading.Condition(lock)
        self._data, self._wall, self._modes = data, wall, modes
        self._sender: threading.Thread | None = None
        self._is_flushing = False
        self.given_up: list[dict[str, Any]] = []
        self.wake()

    def create_secret(self, body: dict[str, Any]) -> dict[str, str]:
        """The one secret of a workspace; a new one replaces the old one."""
        workspace = _required(body, "workspace_id")
        secret = {"id": secrets.token_hex(12), "value": secrets.token_urlsafe(32)}
        self._data["secrets"][workspace] = secret
        return {**secret, "workspace_id": workspace}

    def subscribe(self, body: dict[str, Any]) -> dict[str, Any]:
        """A subscription that sends nothing until it is confirmed with its `hook_secret`."""
        workspace, target = _required(body, "workspace_id"), _required(body, "target_url")
        if _required(body, "event_type") not in EVENT_TYPES:
            raise FakeError(400, {"event_type": [f"must be one of {', '.join(EVENT_TYPES)}"]})
        if not target.startswith(("https://", "http://")):
            raise FakeError(
                400, {"target_url": ["must be an address (Prolific takes https alone)"]}
            )
        if workspace not in self._data["secrets"]:
            raise FakeError(400, {"workspace_id": ["create a secret for this workspace first"]})
        subscription = {
            "id": secrets.token_hex(12),
            "event_type": body["event_type"],
            "target_url": target,
            "workspace_id": workspace,
            "is_enabled": False,
        }
        hook_secret = secrets.token_urlsafe(24)
        stored = {**subscription, "hook_secret": hook_secret}
        self._data["subscriptions"][subscription["id"]] = stored
        return dict(stored)

    def confirm(self, subscription: dict[str, Any], body: dict[str, Any]) -> dict[str, Any]:
        if body.get("secret") != subscription["hook_secret"]:
            raise FakeError(400, {"secret": ["is not the X-Hook-Secret of this subscription"]})
        subscription["is_enabled"] = True
        return shown(subscription)

    def queue(self, event: dict[str, Any]) -> None:
        """Send an event to everybody who asked for its type."""
        if self._modes["webhooks"] == "off":
            return
        for subscription in self._data["subscriptions"].values():
            if subscription["is_enabled"] and subscription["event_type"] == event["event_type"]:
                delivery = {
                    "id": str(uuid.uuid4()),
                    "at": int(self._wall()),
                    "subscription": subscription["id"],
                    "body": json.dumps(event),
                }
                self._data["queue"].append(delivery)
        self.wake()

    def wake(self) -> None:
        """See to it that somebody is sending, if there is something that may be sent."""
        with self._changed:
            if self._sender is None and self._next() is not None:
                self._sender = threading.Thread(target=self._send_all, daemon=True)
                self._sender.start()

    def flush(self, timeout: float) -> None:
        with self._changed:
            self._is_flushing = True
            try:
                self.wake()
                if not self._changed.wait_for(lambda: not self._data["queue"], timeout):
                    raise TimeoutError(f"{len(self._data['queue'])} webhooks are still not sent")
            finally:
                self._is_flushing = False

    def _next(self) -> dict[str, Any] | None:
        queue: list[dict[str, Any]] = self._data["queue"]
        if self._modes["webhooks"] == "reverse":
            return queue[-1] if queue and self._is_flushing else None
        return queue[0] if queue else None

    def _send_all(self) -> None:
        while True:
            with self._changed:
                delivery = self._next()
                if delivery is None:
                    self._sender = None
                    return
                subscription = self._data["subscriptions"].get(delivery["subscription"])
                is_twice = self._modes["webhooks"] == "duplicate"
            if subscription:
                self._deliver(subscription, delivery)
                if is_twice:
                    self._deliver(subscription, delivery)
            with self._changed:
                self._data["queue"].remove(delivery)
                self._changed.notify_all()

    def _deliver(self, subscription: dict[str, Any], delivery: dict[str, Any]) -> None:
        body = delivery["body"].encode()
        for delay in (0, *RETRY_DELAYS):
            time.sleep(delay)
            timestamp = str(int(self._wall()))
            secret = self._data["secrets"][subscription["workspace_id"]]["value"]
            headers = {
                "Content-Type": "application/json",
                "X-Event-Id": delivery["id"],
                "X-Timestamp": str(delivery["at"]),
                "X-Prolific-Request-Timestamp": timestamp,
                "X-Prolific-Request-Signature": signature(secret, timestamp, body),
            }
            try:
                request = urllib.request.Request(subscription["target_url"], body, headers)
                with _opener.open(request, timeout=TIMEOUT):
                    return
            except (OSError, ValueError, http.client.HTTPException):
                continue  # refused, timed out, or a status that is no success: try again
        self.given_up.append(delivery)


def signature(secret: str, timestamp: str, body: bytes) -> str:
    """base64(HMAC-SHA256(secret, timestamp + raw body))."""
    digest = hmac.new(secret.encode(), timestamp.encode() + body, hashlib.sha256).digest()
    return base64.b64encode(digest).decode()


def shown(subscription: dict[str, Any]) -> dict[str, Any]:
    """A subscription without the secret that confirms it."""
    return {name: value for name, value in subscription.items() if name != "hook_secret"}


def _required(body: dict[str, Any], name: str) -> str:
    if not isinstance(body.get(name), str) or not body[name]:
        raise FakeError(400, {name: ["is required"]})
    return str(body[name])
