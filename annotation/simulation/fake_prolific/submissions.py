"""Submissions on the fake Prolific: listed, approved, rejected, asked for, screened out."""

import re
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

from annotation.simulation.fake_prolific.books import Books, iso
from annotation.simulation.fake_prolific.rules import (
    REJECTION_CATEGORIES,
    FakeError,
    cents_of,
    code_of,
    plain,
    required_list,
)

STATUSES = (
    *("ACTIVE", "APPROVED", "AWAITING REVIEW", "REJECTED", "RESERVED", "RETURNED"),
    *("TIMED-OUT", "PARTIALLY APPROVED", "SCREENED OUT"),
)
COMPLETED = {"AWAITING REVIEW", "APPROVED", "PARTIALLY APPROVED", "REJECTED", "SCREENED OUT"}
# Filters of the list that are true or false, and the statuses that each one means.
FLAGS = {
    "completed": COMPLETED,
    "returned": {"RETURNED"},
    "awaiting_review": {"AWAITING REVIEW"},
    "approved": {"APPROVED"},
    "active": {"ACTIVE"},
    "timeout": {"TIMED-OUT"},
    "rejected": {"REJECTED"},
    "screened_out": {"SCREENED OUT"},
    "completeoractive": COMPLETED | {"ACTIVE"},
}
TRUE, FALSE = ("1", "true", "yes", "t"), ("0", "false", "no", "f")


class Submissions(Books):
    """What a researcher's program does with submissions, over the books."""

    def submissions(self, study_id: str, query: dict[str, str]) -> list[dict[str, Any]]:
        """Those of a study that pass the filters; the API thereby looked at each."""
        with self._open():
            study = self._study(study_id)
            orders: dict[str, Callable[[dict[str, Any]], Any]] = {
                "started_at": lambda each: each["started_at"],
                "submission_reward": lambda each: study["reward"],
                "study_name": lambda each: study["name"],
            }
            ordering = query.get("ordering", "started_at")
            if ordering.removeprefix("-") not in orders:
                raise FakeError(400, {"ordering": [f"must be one of {', '.join(orders)}"]})
            rows = self._of(study_id) if self.modes["lists"] else []
            rows.sort(key=orders[ordering.removeprefix("-")])
            shown = [self._shown_short(each) for each in rows]
            for test in _tests(query):
                shown = [each for each in shown if test(each)]
            return shown[::-1] if ordering.startswith("-") else shown

    def counts(self, study_id: str) -> dict[str, int]:
        """How many submissions of a study have each status."""
        with self._open():
            self._study(study_id)
            rows = [each["status"] for each in self._of(study_id)]
            return {**{name: rows.count(name) for name in STATUSES}, "TOTAL": len(rows)}

    def submission(self, submission_id: str) -> dict[str, Any]:
        with self._open():
            if not self.modes["lists"]:
                raise FakeError(404, f"no submission has the id {submission_id!r}")
            return self._shown(self._submission(submission_id))

    def transition_submission(self, submission_id: str, body: dict[str, Any]) -> dict[str, Any]:
        """Approve, reject, complete, or take one of these back; each may be asked for twice."""
        with self._open():
            submission = self._submission(submission_id)
            seen = self._shown(submission)["status"]
            action = body.get("action")
            if action == "APPROVE":
                self._be_approved(submission, seen)
            elif action == "REJECT":
                self._be_rejected(submission, seen, body)
            elif action == "COMPLETE":
                self._be_completed(submission, seen, body)
            elif action in ("UNREJECT", "UNRETURN"):
                was = {"UNREJECT": "REJECTED", "UNRETURN": "RETURNED"}[action]
                self._must_be(seen, was, f"{action} (it must be {was})")
                submission["completed_at"] = submission["completed_at"] or self._clock()
                self._set_status(submission, "AWAITING REVIEW")
            elif action in ("RETURN", "START", "SCREEN_OUT"):
                raise FakeError(400, f"{action} is not for researchers to do")
            else:
                raise FakeError(400, {"action": [f"there is no action {action}"]})
            return self._shown(submission, looked=False)

    def _be_approved(self, submission: dict[str, Any], seen: str) -> None:
        if seen != "APPROVED":
            self._must_be(seen, "AWAITING REVIEW", "be approved")
            self._approve(submission)

    def _be_rejected(self, submission: dict[str, Any], seen: str, body: dict[str, Any]) -> None:
        if len(str(body.get("message") or "")) < 100:
            raise FakeError(400, {"message": ["must be at least 100 characters long"]})
        if body.get("rejection_category") not in REJECTION_CATEGORIES:
            known = ", ".join(sorted(REJECTION_CATEGORIES))
            raise FakeError(400, {"rejection_category": [f"must be one of {known}"]})
        if seen != "REJECTED":
            self._must_be(seen, "AWAITING REVIEW", "be rejected")
            self._set_status(submission, "REJECTED")

    def _be_completed(self, submission: dict[str, Any], seen: str, body: dict[str, Any]) -> None:
        code = body.get("completion_code")
        known = code_of(self._study(submission["study"]), code, "researcher")
        if known is None:
            raise FakeError(400, {"completion_code": ["is no code of the researcher here"]})
        percentage = (body.get("completion_code_data") or {}).get("percentage_of_reward")
        is_dynamic = any(action["action"] == "DYNAMIC_PAYMENT" for action in known["actions"])
        if is_dynamic and not (isinstance(percentage, int | float) and 8 <= percentage <= 99):
            raise FakeError(
                400, {"completion_code_data": ["percentage_of_reward must be from 8 to 99"]}
            )
        if seen in ("ACTIVE", "TIMED-OUT"):
            self._must_be(submission["status"], seen, "be completed")
            self._carry_out(submission, str(code), "researcher", percentage or 0)
        elif submission["entered_code"] != code:
            self._must_be(seen, "ACTIVE", "be completed")

    def bulk_approve(self, body: dict[str, Any]) -> str:
        """Approve many at once: by their ids, or the people of one study."""
        with self._open():
            if "submission_ids" in body:
                ids = required_list(body, "submission_ids")
                rows = [self._submission(each) for each in ids]
            else:
                people = required_list(body, "participant_ids")
                study = self._study(str(body.get("study_id")))
                rows = [each for each in self._of(study["id"]) if each["participant"] in people]
            for each in rows:
                if each["status"] not in ("AWAITING REVIEW", "APPROVED"):
                    raise FakeError(400, f"{each['id']} is {each['status']}")
            for each in rows:
                self._be_approved(each, each["status"])
            return "The request to bulk approve is being processed."

    def request_return(self, submission_id: str, body: dict[str, Any]) -> dict[str, Any]:
        """Ask the participant to return; whether they do is `return_submission`."""
        with self._open():
            submission = self._submission(submission_id)
            required_list(body, "request_return_reasons")
            submission["return_requested"] = iso(self._clock())
            return self._shown(submission)

    def screen_out(self, study_id: str, body: dict[str, Any]) -> dict[str, Any]:
        """Pay and send away several; their places are free again, so none need be added.

        The reference no longer has this: it is here for clients that still call it.
        """
        with self._open():
            if not self.modes["retired"]:
                raise FakeError(404, "this address is no longer there")
            study = self._study(study_id)
            if not study["is_custom_screening"]:
                raise FakeError(400, "the study is not set up with is_custom_screening")
            cents = cents_of(str(body.get("bonus_per_submission", "")))
            if cents is None:
                raise FakeError(400, {"bonus_per_submission": ["must be an amount such as 1.50"]})
            chosen = [self._submission(each) for each in required_list(body, "submission_ids")]
            for each in chosen:
                if each["study"] != study_id or each["status"] not in ("ACTIVE", "AWAITING REVIEW"):
                    raise FakeError(400, f"{each['id']} is {each['status']} or of another study")
            for each in chosen:
                self._set_status(each, "SCREENED OUT")
                self._pay("screen_out", cents, each)
            amount = {"amount": cents / 100, "currency": study["currency_code"]}
            message = "The request to bulk screen out is being processed."
            return {"message": message, "payment_per_participant": amount}


def _tests(query: dict[str, str]) -> list[Callable[[dict[str, Any]], bool]]:
    """What a row must pass, for each filter of the query."""
    tests: list[Callable[[dict[str, Any]], bool]] = []
    if status := query.get("status"):
        tests.append(lambda row: plain(row["status"]) == plain(status))
    for name, statuses in FLAGS.items():
        if name in query:
            tests.append(_flag(name, query[name].lower(), statuses))
    for name in ("submitted_from", "submitted_before"):
        if name in query:
            tests.append(_date(name, query[name]))
    return tests


def _flag(name: str, text: str, statuses: set[str]) -> Callable[[dict[str, Any]], bool]:
    if text not in TRUE + FALSE:
        raise FakeError(400, {name: [f"must be one of {', '.join(TRUE + FALSE)}"]})
    return lambda row: (row["status"] in statuses) == (text in TRUE)


def _date(name: str, text: str) -> Callable[[dict[str, Any]], bool]:
    if not re.fullmatch("[0-9]{2}/[0-9]{2}/[0-9]{4}", text):
        raise FakeError(400, {name: ["must be a date such as 31/12/2024"]})
    try:
        day = iso(datetime.strptime(text, "%d/%m/%Y").replace(tzinfo=UTC).timestamp())
    except ValueError:
        raise FakeError(400, {name: ["is no day"]}) from None
    if name == "submitted_from":
        return lambda row: (row["completed_at"] or "") >= str(day)
    return lambda row: bool(row["completed_at"]) and row["completed_at"] < str(day)
