"""The double's state, and the effects of statuses, completion codes and payments."""

import secrets
import threading
from datetime import UTC, datetime
from functools import cached_property

from tests.prolific_double.links import Signer
from tests.prolific_double.rules import FakeError

TAKES_A_PLACE = {"ACTIVE", "AWAITING REVIEW", "APPROVED"}
AUTO_APPROVAL = 21 * 24 * 3600  # seconds that a submission may wait for review
MODES = {
    "fail_next": 0,  # number of requests to refuse
    "fail_after_next": 0,  # number of requests to carry out but answer with an error (a lost reply)
    "fail_with": 503,  # the status of these errors
    "lag": 0,  # number of requests until the API shows a completion
    "lists": True,  # False: the API lists no submissions, as just after an arrival
    "signing": "refused",  # "on" if the workspace supports it
    "audience": "url",  # of tokens: "url" (the resolved study URL), "origin", or "list" for both
    "organisation": False,  # True: the workspace belongs to an organisation, which tokens name
    "screen_out": True,  # False: the workspace has no FIXED_SCREEN_OUT_PAYMENT
    "currency": "GBP",  # of the workspace, or USD
}


class Books:
    """Studies, submissions, groups and payments in memory."""

    def __init__(self, token, now):
        self.token, self._wall, self._ahead = token, now, 0.0
        self.lock = threading.RLock()
        self.modes = dict(MODES)
        self._owner, self._organisation = new_id(), new_id()
        self._workspaces, self._projects, self._studies, self._submissions = {}, {}, {}, {}
        self._groups, self._members, self._batches = {}, {}, {}
        self._paid = []

    @cached_property
    def _signer(self):
        return Signer(new_id())

    def _clock(self):
        return self._wall() + self._ahead

    def _one(self, kind, key):
        found = getattr(self, f"_{kind}").get(key)
        if found is None:
            raise FakeError(404, f"nothing in {kind} has the id {key!r}")
        return found

    def _of(self, study_id, participant_id=None):
        return [
            each
            for each in self._submissions.values()
            if each["study"] == study_id and participant_id in (None, each["participant"])
        ]

    def _places_taken(self, study_id):
        return sum(each["status"] in TAKES_A_PLACE for each in self._of(study_id))

    # Effects -------------------------------------------------------------------------------------

    def _set_status(self, submission, status):
        before, submission["status"] = submission["status"], status
        self._settle(self._studies[submission["study"]], before)

    def _settle(self, study, before):
        """Update a study after a change to a submission whose status was `before`.

        When submissions fill all places, the study awaits review. It is completed once all are
        reviewed. If a submission that awaits review leaves its place, the study is paused.
        """
        statuses = [each["status"] for each in self._of(study["id"])]
        is_full = self._places_taken(study["id"]) >= study["total_available_places"]
        if study["status"] == "ACTIVE" and is_full and "ACTIVE" not in statuses:
            study["status"] = "AWAITING REVIEW"
        if study["status"] == "AWAITING REVIEW":
            if not is_full and before == "AWAITING REVIEW":
                study["status"] = "PAUSED"
            elif "AWAITING REVIEW" not in statuses:
                study["status"] = "COMPLETED"

    def _approve(self, submission):
        self._set_status(submission, "APPROVED")
        self._pay("reward", self._studies[submission["study"]]["reward"], submission)

    def _pay(self, kind, cents, submission):
        entry = {"kind": kind, "cents": cents, "study": submission["study"]}
        self._paid.append((submission["participant"], {**entry, "submission": submission["id"]}))

    def _carry_out(self, submission, code):
        """Apply a completion code; an unknown code leads to review."""
        study = self._studies[submission["study"]]
        submission |= {"entered_code": code, "completed_at": self._clock()}
        actions = {
            action["action"]: action
            for each in study["completion_codes"]
            for action in each["actions"]
            if each["code"] == code
        }
        if into := actions.get("ADD_TO_PARTICIPANT_GROUP"):
            members = self._members[into["participant_group"]]
            members[submission["participant"]] = iso(self._clock())
        if paid := actions.get("FIXED_SCREEN_OUT_PAYMENT"):
            self._set_status(submission, "SCREENED OUT")
            self._pay("screen_out", paid["fixed_screen_out_reward"], submission)
            used = [each["status"] for each in self._of(study["id"])].count("SCREENED OUT")
            if used >= paid["slots"] and study["status"] == "ACTIVE":
                study["status"] = "PAUSED"
            return
        if "REQUEST_RETURN" in actions:
            # This is only a request: a participant who stays is approved after the usual time.
            submission["return_requested"] = iso(self._clock())
        self._set_status(submission, "AWAITING REVIEW")

    # Replies -------------------------------------------------------------------------------------

    def _shown_study(self, study):
        taken, came = self._places_taken(study["id"]), len(self._of(study["id"]))
        return {**study, "places_taken": taken, "number_of_submissions": came}

    def _shown(self, submission, looked=True):
        """Return one submission as the API shows it, which may lag behind a completion."""
        is_late = looked and submission["unseen"] > 0
        submission["unseen"] -= is_late
        names = ("id", "participant", "return_requested", "status", "entered_code")
        late = {"status": "ACTIVE", "completed_at": None, "entered_code": None}
        return {
            **{name: submission[name] for name in names},
            "study_id": submission["study"],
            "started_at": iso(submission["started_at"]),
            "completed_at": iso(submission["completed_at"]),
            "bonus_payments": list(submission["bonus_payments"]),
            **(late if is_late else {}),
        }

    def _shown_short(self, submission):
        """Return a submission for a list, where Prolific names two fields differently."""
        shown = self._shown(submission)
        names = ("id", "status", "started_at", "completed_at", "return_requested")
        return {
            **{name: shown[name] for name in names},
            "participant_id": shown["participant"],
            "study_code": shown["entered_code"],
            "has_siblings": len(self._of(submission["study"], submission["participant"])) > 1,
        }

    # For tests -----------------------------------------------------------------------------------

    def mode(self, **changes):
        """Change the behaviour; see MODES."""
        assert changes.keys() <= MODES.keys()
        self.modes |= changes

    def advance(self, seconds):
        """Advance the clock, and approve submissions that have awaited review for 21 days."""
        self._ahead += seconds
        for each in self._submissions.values():
            waits = each["status"] == "AWAITING REVIEW"
            if waits and self._clock() - each["completed_at"] >= AUTO_APPROVAL:
                self._approve(each)

    def books(self):
        """Return the payments: {participant: {"paid_cents", "entries"}}."""
        books = {}
        for participant, entry in self._paid:
            person = books.setdefault(participant, {"paid_cents": 0, "entries": []})
            person["paid_cents"] += entry["cents"]
            person["entries"].append(entry)
        return books


def new_id() -> str:
    """Return 24 hexadecimal characters, like Prolific's ids."""
    return secrets.token_hex(12)


def iso(seconds):
    """Format a time like Prolific, in UTC with milliseconds: 2026-11-21T10:32:00.457Z."""
    if seconds is None:
        return None
    text = datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds")
    return text.replace("+00:00", "Z")
