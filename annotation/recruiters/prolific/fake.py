"""A Prolific of one's own, for rehearsals and tests: studies, participants, submissions, money.

It keeps what a researcher's program can rely on: statuses, completion codes, places, groups,
rejections, bonuses in two steps, signed study links and signed webhooks. `fake_books` keeps it,
`fake_rules` says what a study may be, `fake_hooks` sends the webhooks, `fake_site` speaks HTTP.
Written after the public reference (docs.prolific.com); filters other than participant groups keep
nobody out. Where the reference warns of something (a batch paid twice, a return only asked for), it
happens here.
"""

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jwt

from annotation.recruiters.prolific.fake_books import CURRENCY, MODES, Books, instant, iso, new_id
from annotation.recruiters.prolific.fake_hooks import shown
from annotation.recruiters.prolific.fake_rules import (
    GROUP_FILTERS,
    REJECTION_CATEGORIES,
    FakeError,
    cents_of,
    code_of,
    complaints_about,
    fee_on,
    is_whole,
    plain,
)
from annotation.recruiters.prolific.fake_site import Server, Site

TRANSITIONS = {
    ("UNPUBLISHED", "PUBLISH"): "ACTIVE",
    ("UNPUBLISHED", "SCHEDULE_PUBLISH"): "SCHEDULED",
    ("SCHEDULED", "CANCEL_PUBLISH"): "UNPUBLISHED",
    ("PAUSED", "START"): "ACTIVE",
    ("ACTIVE", "PAUSE"): "PAUSED",
    ("ACTIVE", "STOP"): "COMPLETED",
    ("PAUSED", "STOP"): "COMPLETED",
}
READ_ONLY = ("id", "status", "date_created", "published_at", "currency_code")
CHOICES = {
    "webhooks": ("on", "off", "duplicate", "reverse"),
    "signing": ("on", "refused", "ignored"),
    "audience": ("url", "origin", "list"),
}


class FakeProlific(Books):
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

    # What participants do

    def arrive(self, study_id: str, participant_id: str, again: bool = False) -> dict[str, str]:
        """Take a place; return `session_id` and the `url` that Prolific would lead to.

        `again` is for somebody who returned the study before. A FakeError's `reason` is one of
        not_active, full, not_eligible, already.
        """
        with self._open() as data:
            study = self._study(study_id)
            if not isinstance(participant_id, str) or not participant_id:
                raise FakeError(400, "participant_id must be a text")
            if study["status"] != "ACTIVE":
                raise FakeError(409, f"the study is {study['status']}", "not_active")
            for filtered in study["filters"]:
                if filtered.get("filter_id") in GROUP_FILTERS:
                    groups = [data["groups"][group] for group in filtered["selected_values"]]
                    is_in = any(participant_id in group["members"] for group in groups)
                    if is_in != (filtered["filter_id"] == GROUP_FILTERS[0]):
                        raise FakeError(409, f"kept out by {filtered['filter_id']}", "not_eligible")
            before = [each["status"] for each in self._of(study_id, participant_id)]
            if before and not (again and before[-1] == "RETURNED"):
                raise FakeError(409, f"took part already: {before[-1]}", "already")
            if self._places_taken(study_id) >= study["total_available_places"]:
                raise FakeError(409, "no place is left", "full")
            submission: dict[str, Any] = {
                "id": new_id(),
                "study": study_id,
                "participant": participant_id,
                "status": "RESERVED",
                "started_at": self._clock(),
                "completed_at": None,
                "entered_code": None,
                "return_requested": None,
                "bonus_payments": [],
                "unseen": 0,
            }
            data["submissions"][submission["id"]] = submission
            self._set_status(submission, "ACTIVE")
            return {"session_id": submission["id"], "url": self._study_url(study, submission)}

    def complete(self, session_id: str, code: str) -> dict[str, Any]:
        """The browser comes back with a code: do what the code says, once."""
        with self._open():
            submission = self._submission(session_id)
            if submission["status"] in ("RESERVED", "ACTIVE"):
                submission["unseen"] = self.modes["lag"]
                self._carry_out(submission, code, "participant")
            return self._shown(submission, looked=False)

    def return_submission(self, session_id: str) -> dict[str, Any]:
        """The participant gives the place back, as they may until they are paid."""
        return self._leave(session_id, "RETURNED", {"RESERVED", "ACTIVE", "AWAITING REVIEW"})

    def time_out(self, session_id: str) -> dict[str, Any]:
        """As if the maximum time of this submission were over."""
        return self._leave(session_id, "TIMED-OUT", {"RESERVED", "ACTIVE"})

    def _leave(self, session_id: str, status: str, allowed: set[str]) -> dict[str, Any]:
        with self._open():
            submission = self._submission(session_id)
            if submission["status"] not in allowed:
                raise FakeError(409, f"the submission is {submission['status']}", "not_now")
            self._set_status(submission, status)
            return self._shown(submission, looked=False)

    # What the one who rehearses does

    def advance(self, seconds: float) -> dict[str, str]:
        """Let this much time pass for every submission."""
        with self._open() as data:
            data["ahead"] += float(seconds)
            self._let_time_pass()
            return {"now": str(iso(self._clock()))}

    def mode(self, **settings: Any) -> dict[str, Any]:
        """Change how the fake misbehaves (MODES says what there is); return all settings."""
        unknown = sorted(settings.keys() - MODES.keys())
        if unknown:
            raise FakeError(
                400, f"no such mode: {', '.join(unknown)}; there are {', '.join(MODES)}"
            )
        for name, value in settings.items():
            if isinstance(MODES[name], bool):
                if not isinstance(value, bool):
                    raise FakeError(400, f"{name} is true or false")
            elif isinstance(MODES[name], int):
                if not (isinstance(value, int | float) and value >= 0):
                    raise FakeError(400, f"{name} is a number from 0")
            elif value not in CHOICES.get(name, [value]):
                raise FakeError(400, f"{name} is one of {', '.join(CHOICES[name])}")
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

    # What a researcher's program does: studies

    def me(self) -> dict[str, Any]:
        return {"id": self._data["owner"], "name": "A researcher", "currency_code": CURRENCY}

    def create_study(self, body: dict[str, Any]) -> dict[str, Any]:
        with self._open() as data:
            study = {
                "internal_name": "",
                "filters": [],
                "is_custom_screening": False,
                "is_external_study_url_secure": False,
                "project": next(iter(data["projects"])),
                "publish_at": None,
                **body,
                "id": new_id(),
                "status": "UNPUBLISHED",
                "date_created": iso(self._clock()),
                "published_at": None,
                "currency_code": CURRENCY,
            }
            self._check(study)
            data["studies"][study["id"]] = study
            return self._shown_study(study)

    def change_study(self, study_id: str, body: dict[str, Any]) -> dict[str, Any]:
        """A draft may change in everything; later only its internal name and more places."""
        with self._open() as data:
            study = self._study(study_id)
            if study["status"] != "UNPUBLISHED":
                fixed = sorted(body.keys() - {"internal_name", "total_available_places"})
                if fixed:
                    raise FakeError(
                        400, {name: ["cannot change after publishing"] for name in fixed}
                    )
            changed = {**study, **body, **{name: study[name] for name in READ_ONLY}}
            self._check(changed)
            grown = changed["total_available_places"] - study["total_available_places"]
            if study["status"] != "UNPUBLISHED" and grown < 0:
                raise FakeError(400, {"total_available_places": ["can only be increased"]})
            data["studies"][study_id] = changed
            if study["status"] in ("COMPLETED", "AWAITING REVIEW") and grown > 0:
                self._set_study_status(changed, "ACTIVE")
            return self._shown_study(changed)

    def transition_study(self, study_id: str, body: dict[str, Any]) -> dict[str, Any]:
        with self._open():
            study = self._study(study_id)
            status = TRANSITIONS.get((study["status"], str(body.get("action"))))
            if status is None:
                known = " ".join(
                    action for state, action in TRANSITIONS if state == study["status"]
                )
                raise FakeError(
                    400, f"{body.get('action')} of a study that is {study['status']}; now: {known}"
                )
            if body["action"] == "SCHEDULE_PUBLISH":
                study["publish_at"] = _publication(body.get("publish_at") or study["publish_at"])
            if body["action"] == "PUBLISH":
                self._publish(study)
            else:
                self._set_study_status(study, status)
            return self._shown_study(study)

    def study(self, study_id: str) -> dict[str, Any]:
        with self._open():
            return self._shown_study(self._study(study_id))

    def studies(self) -> list[dict[str, Any]]:
        with self._open() as data:
            return [self._shown_study(each) for each in data["studies"].values()]

    def cost(self, study_id: str) -> dict[str, Any]:
        """What the study has cost so far, in cents, with fees."""
        with self._open() as data:
            self._study(study_id)
            cents = {"rewards": 0, "bonuses": 0}
            for entry in data["entries"]:
                if entry["study"] == study_id:
                    cents["bonuses" if entry["kind"] == "bonus" else "rewards"] += entry["cents"]
            costs: dict[str, Any] = {}
            for kind, amount in cents.items():
                parts = {"rewards": amount, "fees": fee_on(amount), "tax": 0}
                costs[kind] = {
                    name: {"amount": part, "currency": CURRENCY} for name, part in parts.items()
                }
            total = sum(amount + fee_on(amount) for amount in cents.values())
            return {**costs, "total_cost": {"amount": total, "currency": CURRENCY}}

    # ... submissions

    def submissions(self, study_id: str, ordering: str, status: str) -> list[dict[str, Any]]:
        """All of a study, each of which the API thereby looked at."""
        with self._open():
            self._study(study_id)
            if ordering not in ("started_at", "-started_at"):
                raise FakeError(400, {"ordering": ["the fake knows started_at and -started_at"]})
            rows = sorted(self._of(study_id), key=lambda each: each["started_at"])
            shown = [self._shown_short(each) for each in rows]
            if status:
                shown = [each for each in shown if plain(each["status"]) == plain(status)]
            return shown[::-1] if ordering.startswith("-") else shown

    def submission(self, submission_id: str) -> dict[str, Any]:
        with self._open():
            return self._shown(self._submission(submission_id))

    def transition_submission(self, submission_id: str, body: dict[str, Any]) -> dict[str, Any]:
        """Approve, reject, or complete with a researcher's code; each may be asked for twice."""
        with self._open():
            submission = self._submission(submission_id)
            seen = self._shown(submission)["status"]
            action = body.get("action")
            if action == "APPROVE":
                if seen != "APPROVED":
                    self._must_be(seen, "AWAITING REVIEW", "be approved")
                    self._approve(submission)
            elif action == "REJECT":
                if len(str(body.get("message") or "")) < 100:
                    raise FakeError(400, {"message": ["must be at least 100 characters long"]})
                if body.get("rejection_category") not in REJECTION_CATEGORIES:
                    known = ", ".join(sorted(REJECTION_CATEGORIES))
                    raise FakeError(400, {"rejection_category": [f"must be one of {known}"]})
                if seen != "REJECTED":
                    self._must_be(seen, "AWAITING REVIEW", "be rejected")
                    self._set_status(submission, "REJECTED")
            elif action == "COMPLETE":
                study = self._study(submission["study"])
                code = body.get("completion_code")
                if code_of(study, code, "researcher") is None:
                    raise FakeError(400, {"completion_code": ["is no code of the researcher here"]})
                if seen in ("ACTIVE", "TIMED-OUT"):
                    self._must_be(submission["status"], seen, "be completed")
                    self._carry_out(submission, str(code), "researcher")
                elif submission["entered_code"] != code:
                    self._must_be(seen, "ACTIVE", "be completed")
            else:
                raise FakeError(400, {"action": ["the fake knows APPROVE, REJECT and COMPLETE"]})
            return self._shown(submission, looked=False)

    def request_return(self, submission_id: str, body: dict[str, Any]) -> dict[str, Any]:
        """Ask the participant to return; whether they do is `return_submission`."""
        with self._open():
            submission = self._submission(submission_id)
            if not body.get("request_return_reasons"):
                raise FakeError(400, {"request_return_reasons": ["at least one is required"]})
            submission["return_requested"] = iso(self._clock())
            return self._shown(submission)

    def screen_out(self, study_id: str, body: dict[str, Any]) -> dict[str, str]:
        """Pay and send away several; their places are free again, so none need be added."""
        with self._open():
            study = self._study(study_id)
            if not study["is_custom_screening"]:
                raise FakeError(400, "the study is not set up with is_custom_screening")
            cents = cents_of(str(body.get("bonus_per_submission", "")))
            if cents is None:
                raise FakeError(400, {"bonus_per_submission": ["must be an amount such as 1.50"]})
            chosen = [self._submission(each) for each in body.get("submission_ids") or []]
            for each in chosen:
                if each["study"] != study_id or each["status"] not in ("ACTIVE", "AWAITING REVIEW"):
                    raise FakeError(400, f"{each['id']} is {each['status']} or of another study")
            if not chosen:
                raise FakeError(400, {"submission_ids": ["at least one is required"]})
            for each in chosen:
                self._set_status(each, "SCREENED OUT")
                self._pay("screen_out", cents, each)
            return {"message": f"{len(chosen)} screened out"}

    # ... money

    def create_bonuses(self, body: dict[str, Any]) -> dict[str, Any]:
        """Check a batch of bonuses, line by line; nothing is paid yet. Amounts are in cents."""
        with self._open() as data:
            study_id = self._study(str(body.get("study_id")))["id"]
            lines, wrong = [], []
            for number, line in enumerate(str(body.get("csv_bonuses") or "").splitlines(), 1):
                who, _, amount = (part.strip() for part in line.partition(","))
                if not line.strip():
                    continue
                theirs = [
                    each for each in self._of(study_id) if who in (each["participant"], each["id"])
                ]
                cents = cents_of(amount)
                if not theirs:
                    wrong.append(f"line {number}: {who!r} has no submission in this study")
                elif cents is None:
                    wrong.append(
                        f"line {number}: {amount!r} is no amount above 0 with at most two decimals"
                    )
                else:
                    lines.append([theirs[-1]["id"], cents])
            if wrong or not lines:
                raise FakeError(400, {"csv_bonuses": wrong or ["no line in it"]})
            batch = {"id": new_id(), "study": study_id, "lines": lines, "paid": 0}
            data["batches"][batch["id"]] = batch
            amount = sum(cents for _, cents in lines)
            money = {"amount": amount, "fees": fee_on(amount), "vat": 0}
            return {
                **money,
                "id": batch["id"],
                "study": study_id,
                "total_amount": sum(money.values()),
            }

    def pay_bonuses(self, batch_id: str) -> str:
        """Move the money of a batch, again if asked again; without the mode `pay_again` once."""
        with self._open() as data:
            batch = self._one("batches", batch_id)
            if batch["paid"] and not self.modes["pay_again"]:
                raise FakeError(400, f"bulk bonus payment {batch_id} was already paid")
            batch["paid"] += 1
            for submission_id, cents in batch["lines"]:
                submission = data["submissions"][submission_id]
                submission["bonus_payments"].append(cents)
                self._pay("bonus", cents, submission)
            return f"Bulk bonus payment with ID {batch_id} is being processed."

    # ... groups

    def create_group(self, body: dict[str, Any]) -> dict[str, Any]:
        with self._open() as data:
            if not body.get("name") or not (body.get("workspace_id") or body.get("project_id")):
                raise FakeError(
                    400, {"name": ["a name and a workspace_id or project_id are required"]}
                )
            group: dict[str, Any] = {
                "id": new_id(),
                "name": body["name"],
                "workspace_id": body.get("workspace_id"),
                "project_id": body.get("project_id"),
            }
            members = dict.fromkeys(body.get("participant_ids") or [], iso(self._clock()))
            data["groups"][group["id"]] = {**group, "members": members}
            return {**group, "participant_count": len(members)}

    def members(
        self, group_id: str, add: list[str] | None = None, remove: list[str] | None = None
    ) -> dict[str, Any]:
        """The members of a group, after some were added or removed."""
        with self._open():
            members = self._one("groups", group_id)["members"]
            for participant in add or []:
                members.setdefault(participant, iso(self._clock()))
            for participant in remove or []:
                members.pop(participant, None)
            return {
                "results": [
                    {"participant_id": participant, "datetime_created": created}
                    for participant, created in members.items()
                ]
            }

    # ... webhooks

    def create_secret(self, body: dict[str, Any]) -> dict[str, str]:
        with self._open():
            return self.hooks.create_secret(body)

    def subscribe(self, body: dict[str, Any]) -> dict[str, Any]:
        with self._open():
            return self.hooks.subscribe(body)

    def confirm(self, subscription_id: str, body: dict[str, Any]) -> dict[str, Any]:
        with self._open():
            return self.hooks.confirm(self._one("subscriptions", subscription_id), body)

    def subscriptions(self) -> list[dict[str, Any]]:
        with self._open():
            return [shown(each) for each in self._data["subscriptions"].values()]

    def unsubscribe(self, subscription_id: str) -> None:
        with self._open() as data:
            self._one("subscriptions", subscription_id)
            del data["subscriptions"][subscription_id]

    def jwks(self) -> dict[str, Any]:
        """The public half of the key that signs study links."""
        key = jwt.algorithms.RSAAlgorithm.to_jwk(self._key.public_key(), as_dict=True)
        return {"keys": [{**key, "kid": self._data["key_id"], "alg": "RS256", "use": "sig"}]}

    def _check(self, study: dict[str, Any]) -> None:
        if is_whole(study.get("estimated_completion_time")):
            study.setdefault("maximum_allowed_time", 3 * study["estimated_completion_time"] + 2)
        wrong = complaints_about(study, self._data["groups"])
        if study["is_external_study_url_secure"] and self.modes["signing"] == "refused":
            wrong["is_external_study_url_secure"] = ["is not available to this workspace"]
        if not self.modes["screen_out"] and "FIXED_SCREEN_OUT_PAYMENT" in json.dumps(study):
            wrong["completion_codes"] = [
                "FIXED_SCREEN_OUT_PAYMENT is not available to this workspace"
            ]
        if study.get("project") not in self._data["projects"]:
            wrong["project"] = ["no such project"]
        if wrong:
            raise FakeError(400, wrong)


def _publication(text: Any) -> str:
    try:
        instant(str(text))
    except ValueError:
        raise FakeError(400, {"publish_at": ["an ISO 8601 date and time is required"]}) from None
    return str(text)
