"""What participants do on the fake Prolific: take a place, come back with a code, leave."""

from typing import Any

from annotation.simulation.fake_prolific.books import UNDER_WAY, new_id
from annotation.simulation.fake_prolific.filters import Filters
from annotation.simulation.fake_prolific.rules import FakeError


class People(Filters):
    """Participants, over the books."""

    def arrive(
        self,
        study_id: str,
        participant_id: str,
        again: bool = False,
        about: dict[str, Any] | None = None,
    ) -> dict[str, str]:
        """Take a place; return `session_id` and the `url` that Prolific would lead to.

        `again` is for somebody who returned the study before; `about` is what they answer to what
        filters ask, by the filter's id. A FakeError's `reason` is one of not_active, full,
        not_eligible, already.
        """
        with self._open() as data:
            study = self._study(study_id)
            if not isinstance(participant_id, str) or not participant_id:
                raise FakeError(400, "participant_id must be a text")
            if about:
                data["people"].setdefault(participant_id, {}).update(about)
            self._may_arrive(study, participant_id, again)
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
                "address": self._address(study),
            }
            data["submissions"][submission["id"]] = submission
            self._set_status(submission, "ACTIVE")
            return {"session_id": submission["id"], "url": self._study_url(study, submission)}

    def _may_arrive(self, study: dict[str, Any], participant_id: str, again: bool) -> None:
        if study["status"] != "ACTIVE":
            raise FakeError(409, f"the study is {study['status']}", "not_active")
        if kept_out := self._kept_out_by(study["filters"] or [], participant_id):
            raise FakeError(409, f"kept out by {kept_out}", "not_eligible")
        if quota := self._full_quota(study, participant_id):
            raise FakeError(409, f"the share of {quota} is full", "full")
        limits = study.get("submissions_config") or {}
        most = limits.get("max_submissions_per_participant") or 1
        before = [each["status"] for each in self._of(study["id"], participant_id)]
        if 0 < most <= len(before) and not (again and before[-1] == "RETURNED"):
            raise FakeError(409, f"took part already: {before[-1]}", "already")
        under_way = sum(each["status"] in UNDER_WAY for each in self._of(study["id"]))
        at_once = limits.get("max_concurrent_submissions") or -1
        if self._places_taken(study["id"]) >= study["total_available_places"] or (
            0 < at_once <= under_way
        ):
            raise FakeError(409, "no place is left", "full")

    def _address(self, study: dict[str, Any]) -> str:
        """Where this study leads to; with several addresses the first that has a place left."""
        if not study.get("access_details"):
            return str(study["external_study_url"])
        shares = self._allocated(study)
        for task in study["access_details"]:
            if shares[task["external_url"]] < task["total_allocation"]:
                return str(task["external_url"])
        raise FakeError(409, "no place is left", "full")

    def link(self, session_id: str, at: float | None = None) -> str:
        """The address of `arrive` once more, signed now or at that moment (wall clock)."""
        with self._open():
            submission = self._submission(session_id)
            return self._study_url(self._study(submission["study"]), submission, at)

    def complete(self, session_id: str, code: str) -> dict[str, Any]:
        """The browser comes back with a code: do what the code says, once."""
        with self._open():
            submission = self._submission(session_id)
            if submission["status"] in UNDER_WAY:
                submission["unseen"] = self.modes["lag"]
                self._carry_out(submission, code, "participant")
            return self._shown(submission, looked=False)

    def return_submission(self, session_id: str) -> dict[str, Any]:
        """The participant gives the place back, as they may until they are paid."""
        return self._leave(session_id, "RETURNED", {"RESERVED", "ACTIVE", "AWAITING REVIEW"})

    def time_out(self, session_id: str) -> dict[str, Any]:
        """As if the maximum time of this submission were over."""
        return self._leave(session_id, "TIMED-OUT", UNDER_WAY)

    def _leave(self, session_id: str, status: str, allowed: set[str]) -> dict[str, Any]:
        with self._open():
            submission = self._submission(session_id)
            if submission["status"] not in allowed:
                raise FakeError(409, f"the submission is {submission['status']}", "not_now")
            self._set_status(submission, status)
            return self._shown(submission, looked=False)
