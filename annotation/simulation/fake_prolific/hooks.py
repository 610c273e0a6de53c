"""The fake Prolific's webhooks: subscriptions, signatures, new attempts, disorder on demand."""

import base64
import hashlib
import hmac
import json
import secrets
import threading
import time
import uuid
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import requests

from annotation.simulation.fake_prolific.rules import FakeError, is_address, required

EVENT_TYPES = {
    "submission.status.change": "The status of a submission changes.",
    "study.status.change": "The status of a study changes.",
    "study.progress.change": "Somebody begins or ends a submission of a study.",
    "study.has_high_return_rate": "Unusually many return a study.",
}
# Seconds before each new attempt: Prolific makes 12 in a day, here the day takes four seconds.
RETRY_DELAYS = (0.05, 0.05, 0.1, 0.1, 0.2, 0.2, 0.4, 0.4, 0.6, 0.8, 1.1)
DISABLED_AFTER = 5 * 24 * 3600  # seconds in which no delivery succeeded
TIMEOUT = 10  # seconds for one attempt


class Webhooks:
    """A queue of deliveries, emptied by a thread that lives as long as there is something to send.

    Shares lock and data of the books, so that an event is kept with what caused it.
    """

    def __init__(
        self,
        lock: threading.RLock,
        data: dict[str, Any],
        wall: Callable[[], float],
        clock: Callable[[], float],
        modes: dict[str, Any],
    ):
        self._changed = threading.Condition(lock)
        self._data, self._wall, self._clock, self._modes = data, wall, clock, modes
        self._sender: threading.Thread | None = None
        self._is_flushing = False
        self._session = requests.Session()
        self._session.trust_env = False  # no proxy stands between it and a server on this machine
        self.wake()

    def create_secret(self, body: dict[str, Any]) -> dict[str, str]:
        """The one secret of a workspace; a new one replaces the old one."""
        workspace = self._workspace(body)
        secret = {"id": secrets.token_hex(12), "value": secrets.token_urlsafe(32)}
        self._data["secrets"][workspace] = secret
        return {**secret, "workspace_id": workspace}

    def secrets(self, query: dict[str, str]) -> list[dict[str, str]]:
        workspace = self._workspace(query)
        secret = self._data["secrets"].get(workspace)
        return [{**secret, "workspace_id": workspace}] if secret else []

    def subscribe(self, body: dict[str, Any]) -> dict[str, Any]:
        """A subscription that sends nothing until it is confirmed with its `hook_secret`."""
        workspace = self._workspace(body)
        event_type, target = required(body, "event_type", "target_url")
        _check_subscription({"event_type": event_type, "target_url": target})
        if workspace not in self._data["secrets"]:
            raise FakeError(400, {"workspace_id": ["create a secret for this workspace first"]})
        subscription = {
            "id": secrets.token_hex(12),
            "event_type": event_type,
            "target_url": target,
            "workspace_id": workspace,
            "is_enabled": False,
            "hook_secret": secrets.token_urlsafe(24),
            "failing_since": None,
        }
        self._data["subscriptions"][subscription["id"]] = subscription
        return {**shown(subscription), "hook_secret": subscription["hook_secret"]}

    def confirm(self, subscription: dict[str, Any], body: dict[str, Any]) -> dict[str, Any]:
        if body.get("secret") != subscription["hook_secret"]:
            raise FakeError(400, {"secret": ["is not the X-Hook-Secret of this subscription"]})
        subscription["is_enabled"] = True
        return shown(subscription)

    def change(self, subscription: dict[str, Any], body: dict[str, Any]) -> dict[str, Any]:
        """Another event, another target, or off and on."""
        changes: dict[str, Any] = {
            name: body[name] for name in ("event_type", "target_url", "is_enabled") if name in body
        }
        _check_subscription({**subscription, **changes})
        subscription |= {**changes, "failing_since": None}
        return shown(subscription)

    def subscriptions(self, query: dict[str, str]) -> list[dict[str, Any]]:
        """Those that are enabled, unless `is_enabled=false` asks for the others."""
        is_enabled = query.get("is_enabled", "true").lower() != "false"
        return [
            shown(each)
            for each in self._data["subscriptions"].values()
            if each["is_enabled"] == is_enabled
            and query.get("workspace_id") in (None, each["workspace_id"])
        ]

    def events(self, subscription: dict[str, Any], query: dict[str, str]) -> list[dict[str, Any]]:
        """What was sent, and whether it arrived."""
        wanted = query.get("status", "")
        return [
            {name: value for name, value in each.items() if name != "subscription"}
            for each in self._data["events"].values()
            if each["subscription"] == subscription["id"]
            and (not wanted or f'"{each["status"]}"' in wanted or each["status"] == wanted)
            and query.get("resource_id") in (None, each["resource_id"])
        ]

    def _workspace(self, named: dict[str, Any]) -> str:
        (workspace,) = required(named, "workspace_id")
        if workspace not in self._data["workspaces"]:
            raise FakeError(400, {"workspace_id": ["there is none with this id"]})
        return workspace

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
                self._data["events"][delivery["id"]] = {
                    "id": delivery["id"],
                    "datetime_created": self._now(),
                    "datetime_updated": self._now(),
                    "event_type": event["event_type"],
                    "resource_id": event["resource_id"],
                    "status": "PENDING",
                    "target_url": subscription["target_url"],
                    "payload": event,
                    "subscription": subscription["id"],
                }
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
            is_taken = subscription is not None and self._deliver(subscription, delivery)
            if subscription and is_twice:
                self._deliver(subscription, delivery)
            with self._changed:
                self._end(subscription, delivery, is_taken)
                self._data["queue"].remove(delivery)
                self._changed.notify_all()

    def _end(
        self, subscription: dict[str, Any] | None, delivery: dict[str, Any], is_taken: bool
    ) -> None:
        """Write down how a delivery ended; what fails for days is sent nothing more."""
        event = self._data["events"][delivery["id"]]
        event["status"] = "SUCCEEDED" if is_taken else "FAILED"
        event["datetime_updated"] = self._now()
        if subscription is None:
            return
        if is_taken:
            subscription["failing_since"] = None
            return
        since = subscription["failing_since"] = subscription["failing_since"] or self._clock()
        if self._clock() - since >= DISABLED_AFTER:
            subscription["is_enabled"] = False

    def _now(self) -> str:
        return datetime.fromtimestamp(self._wall(), UTC).isoformat()

    def _deliver(self, subscription: dict[str, Any], delivery: dict[str, Any]) -> bool:
        """Send until it is taken; False when all attempts failed."""
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
            if self._is_taken(subscription["target_url"], body, headers):
                return True
        return False

    def _is_taken(self, address: str, body: bytes, headers: dict[str, str]) -> bool:
        """Send once; a webhook that is led elsewhere was not delivered."""
        try:
            reply = self._session.post(
                address, body, headers=headers, timeout=TIMEOUT, allow_redirects=False
            )
        except requests.RequestException:
            return False
        return reply.status_code < 300


def signature(secret: str, timestamp: str, body: bytes) -> str:
    """base64(HMAC-SHA256(secret, timestamp + raw body))."""
    digest = hmac.new(secret.encode(), timestamp.encode() + body, hashlib.sha256).digest()
    return base64.b64encode(digest).decode()


def shown(subscription: dict[str, Any]) -> dict[str, Any]:
    """A subscription without what only its owner and the books know."""
    hidden = ("hook_secret", "failing_since")
    return {name: value for name, value in subscription.items() if name not in hidden}


def _check_subscription(subscription: dict[str, Any]) -> None:
    if subscription["event_type"] not in EVENT_TYPES:
        raise FakeError(400, {"event_type": [f"must be one of {', '.join(EVENT_TYPES)}"]})
    if not is_address(subscription["target_url"]):
        raise FakeError(400, {"target_url": ["must be an address (Prolific takes https alone)"]})
