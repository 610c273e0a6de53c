"""Actions of the double's participants: take a place, return with a code, leave."""

from tests.prolific_double.books import Books, new_id
from tests.prolific_double.links import filled_in
from tests.prolific_double.rules import BY_GROUP, FakeError


class People(Books):
    """Participants, as methods on the books."""

    def arrive(self, study_id, participant_id, again=False) -> dict[str, str]:
        """Take a place; return its `session_id` and the `url` that Prolific would open.

        Set `again` for a participant who has returned the study before. If refused, the `reason`
        of the FakeError is not_active, full, not_eligible or already.
        """
        study = self._one("studies", study_id)
        self._may_arrive(study, participant_id, again)
        submission = {
            "id": new_id(),
            "study": study_id,
            "participant": participant_id,
            "status": "ACTIVE",
            "started_at": self._clock(),
            "completed_at": None,
            "entered_code": None,
            "return_requested": None,
            "bonus_payments": [],
            "unseen": 0,
        }
        self._submissions[submission["id"]] = submission
        self._set_status(submission, "ACTIVE")
        return {"session_id": submission["id"], "url": self.link(submission["id"])}

    def _may_arrive(self, study, participant_id, again):
        if study["status"] != "ACTIVE":
            raise FakeError(409, f"the study is {study['status']}", "not_active")
        for each in study["filters"] or []:
            groups = each["selected_values"] if each["filter_id"] in BY_GROUP else []
            is_in = any(participant_id in self._members[group] for group in groups)
            if groups and is_in != each["filter_id"].endswith("allowlist"):
                raise FakeError(409, f"kept out by {each['filter_id']}", "not_eligible")
        before = [each["status"] for each in self._of(study["id"], participant_id)]
        if before and not (again and before[-1] == "RETURNED"):
            raise FakeError(409, f"took part already: {before[-1]}", "already")
        if self._places_taken(study["id"]) >= study["total_available_places"]:
            raise FakeError(409, "no place is left", "full")

    def link(self, session_id, at=None) -> str:
        """Return the `url` of `arrive`, signed now (or at this time) if the study requires it."""
        submission = self._one("submissions", session_id)
        study = self._studies[submission["study"]]
        ids = {"PROLIFIC_PID": submission["participant"], "STUDY_ID": study["id"]}
        url = filled_in(study["external_study_url"], {**ids, "SESSION_ID": session_id})
        if not study["is_external_study_url_secure"]:
            return url
        owners = {"workspace_id": self._projects[study["project"]]["workspace"]}
        if self.modes["organisation"]:
            owners["organisation_id"] = self._organisation
        now = self._wall() if at is None else at
        return self._signer.signed(url, session_id, owners, now, self.modes["audience"])

    def complete(self, session_id, code):
        """Return to Prolific with a code, which takes effect only once."""
        submission = self._one("submissions", session_id)
        if submission["status"] == "ACTIVE":
            submission["unseen"] = self.modes["lag"]
            self._carry_out(submission, code)
        return self._shown(submission, looked=False)

    def return_submission(self, session_id):
        """Give up the place, which participants can do until they are paid."""
        self._leave(session_id, "RETURNED", {"ACTIVE", "AWAITING REVIEW"})

    def time_out(self, session_id):
        """Let the submission's maximum time run out."""
        self._leave(session_id, "TIMED-OUT", {"ACTIVE"})

    def _leave(self, session_id, status, allowed):
        submission = self._one("submissions", session_id)
        assert submission["status"] in allowed, submission["status"]
        self._set_status(submission, status)
