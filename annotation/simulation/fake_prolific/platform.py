"""A Prolific of one's own, for rehearsals and tests: studies, participants, submissions, money.

It keeps what a researcher's program can rely on: statuses, completion codes, places, groups,
rejections, bonuses in two steps, signed study links and signed webhooks. Written after the public
reference (docs.prolific.com) without AI Task Builder, surveys, credentials, invitations, filter
sets and exports. Where the reference warns of something (a batch paid twice, a return only asked
for), it happens here. Of participants their id is known, and what `arrive` tells of their answers:
filters keep out whose answer does not fit.

Each part of the platform is a class over the books (`books`): `people`, `studies`, `submissions`,
`money`, `groups`, `filters`, `workspaces`. `rules` says what a study may be, `links` signs, `hooks`
sends webhooks; `site` serves the addresses of `urls` with the views of `api` and `pages`.
"""

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from annotation.simulation.fake_prolific.books import MODES, Books, iso
from annotation.simulation.fake_prolific.groups import Groups
from annotation.simulation.fake_prolific.hooks import EVENT_TYPES, shown
from annotation.simulation.fake_prolific.money import Money
from annotation.simulation.fake_prolific.people import People
from annotation.simulation.fake_prolific.rules import FakeError
from annotation.simulation.fake_prolific.site import Server, Site
from annotation.simulation.fake_prolific.studies import Studies
from annotation.simulation.fake_prolific.submissions import Submissions
from annotation.simulation.fake_prolific.workspaces import Workspaces

CHOICES: dict[str, tuple[Any, ...]] = {
    "webhooks": ("on", "off", "duplicate", "reverse"),
    "signing": ("on", "refused", "ignored"),
    "audience": ("url", "origin", "list"),
    "currency": ("GBP", "USD"),
    "fail_with": (403, 409, 429, 500, 502, 503, 504),
}


class FakeProlific(People, Studies, Submissions, Money, Groups, Workspaces, Books):
    """The platform: every public method is one thing that somebody does there.

    `app` is the whole site as a WSGI callable. `now` is the wall clock (seconds): it signs tokens
    and webhooks; `advance` moves only the clock of submissions. With `state` the books are read
    from that file and kept there as JSON.
    """

    def __init__(
        self,
        token: str = "fake-token",
        now: Callable[[], float] = time.time,
        state: Path | None = None,
    ):
        super().__init__(now, state)
        self.token = token
        self.app = Site(self)

    def serve(self, port: int = 0) -> Server:
        """Answer on 127.0.0.1 in threads of its own, at once; port 0 is any free one."""
        return Server(self.app, port)

    @property
    def first_workspace(self) -> str:
        """The id of the workspace that is there from the beginning."""
        return str(next(iter(self._data["workspaces"])))

    @property
    def organisation(self) -> str:
        """The id of the organisation that the workspace belongs to (mode `organisation`)."""
        return str(self._data["organisation"])

    def token_of(self, claims: dict[str, Any]) -> str:
        """A token with these claims, signed as those of study links are."""
        with self._open():
            return self._signer.token(claims)

    def jwks(self) -> dict[str, Any]:
        """The public half of the key that signs study links."""
        with self._open():
            return self._signer.jwks()

    # What the one who rehearses does

    def advance(self, seconds: float) -> dict[str, str]:
        """Let this much time pass for every submission."""
        with self._open() as data:
            data["ahead"] += float(seconds)
            self._let_time_pass()
            return {"now": str(iso(self._clock()))}

    def mode(self, **settings: Any) -> dict[str, Any]:
        """Change how the fake behaves (MODES says what there is); return all settings."""
        if unknown := sorted(settings.keys() - MODES.keys()):
            raise FakeError(
                400, f"no such mode: {', '.join(unknown)}; there are {', '.join(MODES)}"
            )
        for name, value in settings.items():
            if name in CHOICES:
                if value not in CHOICES[name]:
                    known = ", ".join(map(str, CHOICES[name]))
                    raise FakeError(400, f"{name} is one of {known}")
            elif isinstance(MODES[name], bool):
                if not isinstance(value, bool):
                    raise FakeError(400, f"{name} is true or false")
            elif isinstance(MODES[name], int) and not (
                isinstance(value, int | float) and value >= 0
            ):
                raise FakeError(400, f"{name} is a number from 0")
        with self._lock:
            self.modes.update(settings)
            self.hooks.wake()
            return dict(self.modes)

    def take(self, countdown: str) -> bool:
        """Count a mode down by one reply; False when it was at 0."""
        with self._lock:
            is_left = self.modes[countdown] > 0
            self.modes[countdown] -= is_left
            return bool(is_left)

    def flush_webhooks(self, timeout: float = 10) -> None:
        """Wait until every webhook is delivered or given up; TimeoutError if it takes longer."""
        self.hooks.flush(timeout)

    def books(self) -> dict[str, Any]:
        """Who was paid what: {participant: {"paid_cents", "entries"}}."""
        with self._open() as data:
            books: dict[str, Any] = {}
            for entry in data["entries"]:
                person = books.setdefault(entry["participant"], {"paid_cents": 0, "entries": []})
                person["paid_cents"] += entry["cents"]
                person["entries"].append(
                    {name: entry[name] for name in ("kind", "cents", "study", "submission")}
                )
            return books

    def overview(self) -> dict[str, Any]:
        """What the home page shows: studies and submissions, the latest first."""
        with self._open() as data:
            return {
                "studies": [self._shown_study(each) for each in reversed(data["studies"].values())],
                "submissions": list(reversed(data["submissions"].values())),
            }

    # Webhooks

    def event_types(self) -> list[dict[str, str]]:
        return [
            {"event_type": name, "description": description}
            for name, description in EVENT_TYPES.items()
        ]

    def create_secret(self, body: dict[str, Any]) -> dict[str, str]:
        with self._open():
            return self.hooks.create_secret(body)

    def secrets(self, query: dict[str, str]) -> list[dict[str, str]]:
        with self._open():
            return self.hooks.secrets(query)

    def subscribe(self, body: dict[str, Any]) -> dict[str, Any]:
        with self._open():
            return self.hooks.subscribe(body)

    def subscription(self, subscription_id: str) -> dict[str, Any]:
        with self._open():
            return shown(self._one("subscriptions", subscription_id))

    def confirm(self, subscription_id: str, body: dict[str, Any]) -> dict[str, Any]:
        with self._open():
            return self.hooks.confirm(self._one("subscriptions", subscription_id), body)

    def change_subscription(self, subscription_id: str, body: dict[str, Any]) -> dict[str, Any]:
        with self._open():
            return self.hooks.change(self._one("subscriptions", subscription_id), body)

    def subscriptions(self, query: dict[str, str]) -> list[dict[str, Any]]:
        with self._open():
            return self.hooks.subscriptions(query)

    def unsubscribe(self, subscription_id: str) -> None:
        with self._open() as data:
            self._one("subscriptions", subscription_id)
            del data["subscriptions"][subscription_id]

    def events(self, subscription_id: str, query: dict[str, str]) -> list[dict[str, Any]]:
        with self._open():
            return self.hooks.events(self._one("subscriptions", subscription_id), query)
