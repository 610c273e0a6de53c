"""The fake Prolific's books: what is kept, what time and completion codes do to it, who is paid."""

import json
import secrets
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import Any

from annotation.simulation.fake_prolific.hooks import Webhooks
from annotation.simulation.fake_prolific.links import Signer, filled_in, new_key
from annotation.simulation.fake_prolific.rules import FakeError, code_of, fee_on

TAKES_A_PLACE = {"RESERVED", "ACTIVE", "AWAITING REVIEW", "APPROVED", "PARTIALLY APPROVED"}
UNDER_WAY = {"RESERVED", "ACTIVE"}
AUTO_APPROVAL = 21 * 24 * 3600  # seconds that a submission may wait for review
# A return rate that Prolific would tell of; it doesn't publish its own numbers.
MANY_SUBMISSIONS, HIGH_RETURN_RATE = 5, 0.5
INTERNAL = {"active_from", "told_of_returns"}  # of a study: kept, never shown
MODES: dict[str, Any] = {
    "slow": 0,  # seconds before every reply of the API
    "fail_next": 0,  # replies that fail, nothing done
    "fail_after_next": 0,  # replies that fail although it is done: the lost reply
    "fail_with": 503,  # the status of both: 429, 403, 409 or of the server
    "lag": 0,  # looks of the API until it sees the status after a completion
    "lists": True,  # False: the API knows no submission yet, as right after an arrival
    "hang_on": None,  # a word of a path such as "pay": done, but the reply takes
    "hang": 30,  # this many seconds
    "pay_again": True,  # a second pay of one batch pays again, as documented; False refuses it
    "signing": "refused",  # on, where the workspace has it; else refused, or ignored (no token)
    "audience": "url",  # of a token: the resolved study URL, its origin, or a list of both
    "organisation": False,  # True: the workspace belongs to an organisation, which tokens name
    "screen_out": True,  # False: the workspace has no FIXED_SCREEN_OUT_PAYMENT
    "test_studies": True,  # False: the workspace has no test studies
    "retired": True,  # False: without what the reference no longer has (screening out in bulk)
    "currency": "GBP",  # of the workspace, or USD
    "balance": 10_000_000,  # cents that the workspace began with
    "publishing": 0,  # seconds (of the clock of submissions) that a study stays PUBLISHING
    "webhooks": "on",  # on, off (nothing is sent), duplicate, reverse (held until flushed)
}


class Books:
    """Studies, submissions, groups and money under one lock, kept as one JSON document.

    What changes them sits in FakeProlific; here is what follows from it by itself.
    """

    def __init__(self, now: Callable[[], float], state: Path | None):
        self._wall = now
        self._state = state
        self._saved = state.read_text() if state and state.exists() else ""
        self._data: dict[str, Any] = _empty_books()
        self._data.update(json.loads(self._saved) if self._saved else {})
        self._lock = threading.RLock()
        self.modes = dict(MODES)
        self.hooks = Webhooks(self._lock, self._data, now, self._clock, self.modes)

    @contextmanager
    def _open(self) -> Iterator[dict[str, Any]]:
        """The books under the lock: first what time has done to them, at the end they are kept."""
        with self._lock:
            self._let_time_pass()
            yield self._data
            if self._state and (text := json.dumps(self._data, indent=1)) != self._saved:
                draft = self._state.with_name(self._state.name + ".new")
                draft.write_text(text)
                draft.replace(self._state)
                self._saved = text

    @cached_property
    def _signer(self) -> Signer:
        self._data["key"] = self._data["key"] or new_key()
        return Signer(self._data["key"], self._data["key_id"])

    def _clock(self) -> float:
        return self._wall() + float(self._data["ahead"])

    def _let_time_pass(self) -> None:
        now = self._clock()
        for study in self._data["studies"].values():
            if study["status"] == "SCHEDULED" and now >= instant(study["publish_at"]):
                self._publish(study)
            if study["status"] == "PUBLISHING" and now >= instant(study["active_from"]):
                self._set_study_status(study, "ACTIVE")
        for each in self._data["submissions"].values():
            study = self._data["studies"][each["study"]]
            if each["status"] == "ACTIVE":
                if now - each["started_at"] > study["maximum_allowed_time"] * 60:
                    self._set_status(each, "TIMED-OUT")
            elif each["status"] == "AWAITING REVIEW" and (
                now - each["completed_at"] >= AUTO_APPROVAL
            ):
                self._approve(each)

    def _one(self, kind: str, key: str) -> dict[str, Any]:
        try:
            entry: dict[str, Any] = self._data[kind][key]
        except (KeyError, TypeError):
            raise FakeError(404, f"nothing in {kind} has the id {key!r}") from None
        return entry

    def _study(self, study_id: str) -> dict[str, Any]:
        return self._one("studies", study_id)

    def _submission(self, submission_id: str) -> dict[str, Any]:
        return self._one("submissions", submission_id)

    def _of(self, study_id: str, participant_id: str | None = None) -> list[dict[str, Any]]:
        return [
            each
            for each in self._data["submissions"].values()
            if each["study"] == study_id and participant_id in (None, each["participant"])
        ]

    def _allocated(self, study: dict[str, Any]) -> dict[str, int]:
        """Places taken of each address of a taskflow."""
        taken = [
            each["address"] for each in self._of(study["id"]) if each["status"] in TAKES_A_PLACE
        ]
        return {
            address["external_url"]: taken.count(address["external_url"])
            for address in study["access_details"]
        }

    def _balance(self) -> tuple[int, int]:
        """What the workspace has in cents, and what of it isn't set aside for open studies."""
        spent = sum(entry["cents"] + fee_on(entry["cents"]) for entry in self._data["entries"])
        total = self.modes["balance"] - spent
        return total, total - sum(
            self._unpaid_cost(study)
            for study in self._data["studies"].values()
            if study["status"] not in ("UNPUBLISHED", "SCHEDULED", "COMPLETED")
        )

    def _unpaid_cost(self, study: dict[str, Any]) -> int:
        """What the places of a study that aren't approved yet will cost, in cents."""
        approved = sum(each["status"] == "APPROVED" for each in self._of(study["id"]))
        place = study["reward"] + fee_on(study["reward"])
        return int((study["total_available_places"] - approved) * place)

    def _places_taken(self, study_id: str) -> int:
        return sum(each["status"] in TAKES_A_PLACE for each in self._of(study_id))

    def _must_be(self, status: str, wanted: str, what: str) -> None:
        if status != wanted:
            raise FakeError(400, f"a submission that is {status} cannot {what}")

    def _set_status(self, submission: dict[str, Any], status: str) -> None:
        before, submission["status"] = submission["status"], status
        self.hooks.queue(
            {
                "resource_id": submission["id"],
                "event_type": "submission.status.change",
                "participant_id": submission["participant"],
                "status": status,
            }
        )
        study = self._study(submission["study"])
        if (before in UNDER_WAY) != (status in UNDER_WAY):
            event = {"resource_id": study["id"], "event_type": "study.progress.change"}
            self.hooks.queue(event)
        self._tell_of_returns(study)
        self._settle(study, before)

    def _tell_of_returns(self, study: dict[str, Any]) -> None:
        rows = [each["status"] for each in self._of(study["id"])]
        is_high = rows.count("RETURNED") >= HIGH_RETURN_RATE * len(rows)
        if is_high and len(rows) >= MANY_SUBMISSIONS and not study.get("told_of_returns"):
            study["told_of_returns"] = True
            event = {"resource_id": study["id"], "event_type": "study.has_high_return_rate"}
            self.hooks.queue({**event, "metadata": {}})

    def _settle(self, study: dict[str, Any], before: str) -> None:
        """What a submission's change does to its study; `before` is the status that it had.

        When all places are filled by work that is done, the study awaits review, and is completed
        when all of it is reviewed. A place that is freed after that pauses it.
        """
        rows = [each["status"] for each in self._of(study["id"])]
        is_full = self._places_taken(study["id"]) >= study["total_available_places"]
        if study["status"] == "ACTIVE" and is_full and not UNDER_WAY & {*rows}:
            self._set_study_status(study, "AWAITING REVIEW")
        if study["status"] == "AWAITING REVIEW":
            if not is_full and before == "AWAITING REVIEW":
                self._set_study_status(study, "PAUSED")
            elif "AWAITING REVIEW" not in rows:
                self._set_study_status(study, "COMPLETED")

    def _publish(self, study: dict[str, Any]) -> None:
        """Publish now; it may take a while until participants see it."""
        study["published_at"] = iso(self._clock())
        study["active_from"] = iso(self._clock() + self.modes["publishing"])
        self._set_study_status(study, "PUBLISHING" if self.modes["publishing"] else "ACTIVE")

    def _set_study_status(self, study: dict[str, Any], status: str) -> None:
        study["status"] = status
        self.hooks.queue(
            {
                "resource_id": study["id"],
                "event_type": "study.status.change",
                "metadata": {},
                "status": status,
            }
        )

    def _approve(self, submission: dict[str, Any]) -> None:
        self._set_status(submission, "APPROVED")
        self._pay("reward", self._study(submission["study"])["reward"], submission)

    def _pay(self, kind: str, cents: int, submission: dict[str, Any]) -> None:
        self._data["entries"].append(
            {
                "participant": submission["participant"],
                "kind": kind,
                "cents": cents,
                "study": submission["study"],
                "submission": submission["id"],
            }
        )

    def _carry_out(
        self, submission: dict[str, Any], code: str, actor: str, percentage: float = 0
    ) -> None:
        """What a completion code does; a code that nobody set up leads to review.

        `percentage` of the reward is what DYNAMIC_PAYMENT pays.
        """
        study = self._study(submission["study"])
        submission["entered_code"] = code
        submission["completed_at"] = self._clock()
        known = code_of(study, code, actor)
        actions = {each["action"]: each for each in known["actions"]} if known else {}
        for action in known["actions"] if known else []:
            if "participant_group" in action:
                members = self._data["groups"][action["participant_group"]]["members"]
                members.pop(submission["participant"], None)
                if action["action"] == "ADD_TO_PARTICIPANT_GROUP":
                    members[submission["participant"]] = iso(self._clock())
        if "FIXED_SCREEN_OUT_PAYMENT" in actions:
            action = actions["FIXED_SCREEN_OUT_PAYMENT"]
            self._set_status(submission, "SCREENED OUT")
            self._pay("screen_out", action["fixed_screen_out_reward"], submission)
            used = sum(each["status"] == "SCREENED OUT" for each in self._of(study["id"]))
            if used >= action.get("slots", used + 1) and study["status"] == "ACTIVE":
                self._set_study_status(study, "PAUSED")
        elif "REQUEST_RETURN" in actions:
            # It only asks: whoever does not return is approved in the end, as all who wait are.
            submission["return_requested"] = iso(self._clock())
            self._set_status(submission, "AWAITING REVIEW")
        elif "AUTOMATICALLY_APPROVE" in actions:
            self._approve(submission)
        elif "DYNAMIC_PAYMENT" in actions:
            self._set_status(submission, "PARTIALLY APPROVED")
            self._pay("reward", round(study["reward"] * percentage / 100), submission)
        else:
            self._set_status(submission, "AWAITING REVIEW")

    def _study_url(
        self, study: dict[str, Any], submission: dict[str, Any], at: float | None = None
    ) -> str:
        """Where the participant is led, signed if the study asks for it and the workspace may."""
        ids = {
            "PROLIFIC_PID": submission["participant"],
            "STUDY_ID": study["id"],
            "SESSION_ID": submission["id"],
        }
        url = filled_in(submission["address"], ids)
        if not study["is_external_study_url_secure"] or self.modes["signing"] != "on":
            return url
        owners = {"workspace_id": self._data["projects"][study["project"]]["workspace"]}
        if self.modes["organisation"]:
            owners["organisation_id"] = self._data["organisation"]
        now = self._wall() if at is None else at
        return self._signer.signed(url, ids["SESSION_ID"], owners, now, self.modes["audience"])

    def _shown_study(self, study: dict[str, Any]) -> dict[str, Any]:
        submissions = self._of(study["id"])
        public = {name: value for name, value in study.items() if name not in INTERNAL}
        return {
            **public,
            "places_taken": self._places_taken(study["id"]),
            "number_of_submissions": len(submissions),
        }

    def _shown(self, submission: dict[str, Any], looked: bool = True) -> dict[str, Any]:
        """One submission as the API tells it, which may lag behind a completion."""
        is_late = looked and submission["unseen"] > 0
        if is_late:
            submission["unseen"] -= 1
        return {
            "id": submission["id"],
            "study_id": submission["study"],
            "participant": submission["participant"],
            "status": "ACTIVE" if is_late else submission["status"],
            "started_at": iso(submission["started_at"]),
            "completed_at": None if is_late else iso(submission["completed_at"]),
            "entered_code": None if is_late else submission["entered_code"],
            "return_requested": submission["return_requested"],
            "bonus_payments": list(submission["bonus_payments"]),
        }

    def _shown_short(self, submission: dict[str, Any]) -> dict[str, Any]:
        """The same in a list, where Prolific names two fields differently."""
        shown = self._shown(submission)
        names = ("id", "status", "started_at", "completed_at", "return_requested")
        return {
            **{name: shown[name] for name in names},
            "participant_id": shown["participant"],
            "study_code": shown["entered_code"],
            "has_siblings": len(self._of(submission["study"], submission["participant"])) > 1,
        }


def _empty_books() -> dict[str, Any]:
    owner, workspace, project = new_id(), new_id(), new_id()
    tables = ("studies", "submissions", "batches", "groups", "secrets", "subscriptions", "events")
    return {
        **{name: {} for name in tables},
        "entries": [],  # money that moved, oldest first
        "queue": [],  # webhooks that are not delivered yet
        "messages": [],
        "testers": [],  # ids of test participants
        "people": {},  # what participants answered to what filters ask
        "ahead": 0,  # seconds by which the clock of submissions was advanced
        "owner": owner,
        "workspaces": {workspace: {"id": workspace, "title": "My workspace", "owner": owner}},
        "projects": {
            project: {
                "id": project,
                "title": "Project",
                "type": "PRIVATE",
                "owner": owner,
                "workspace": workspace,
            }
        },
        "organisation": new_id(),
        "key_id": new_id(),
        "key": "",  # private, made when something is signed for the first time
    }


def new_id() -> str:
    """24 hex characters, as Prolific's ids are."""
    return secrets.token_hex(12)


def iso(seconds: float | None) -> str | None:
    """UTC to the millisecond, written as Prolific does: 2026-11-21T10:32:00.457Z."""
    if seconds is None:
        return None
    text = datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds")
    return text.replace("+00:00", "Z")


def instant(text: str) -> float:
    """Seconds of a time as `iso` writes it, or as ISO 8601 with another offset."""
    return datetime.fromisoformat(text).timestamp()
