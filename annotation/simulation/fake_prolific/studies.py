"""Studies on the fake Prolific: drafted, published, paused, copied, tried out."""

from typing import Any

from annotation.simulation.fake_prolific.books import Books, instant, iso, new_id
from annotation.simulation.fake_prolific.filters import Filters
from annotation.simulation.fake_prolific.rules import (
    LONGEST,
    WHOLE_NUMBERS,
    FakeError,
    code_of,
    complaints_about,
    is_whole,
    plain,
    required,
)

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
AFTER_PUBLISHING = {
    *("internal_name", "total_available_places", "submissions_config"),
    *("access_details", "completion_codes"),
}


class Studies(Filters, Books):
    """What a researcher does with studies, over the books."""

    def create_study(self, body: dict[str, Any]) -> dict[str, Any]:
        with self._open() as data:
            study = {
                "internal_name": "",
                "external_study_url": "",
                "filters": [],
                "is_custom_screening": False,
                "is_external_study_url_secure": False,
                "maximum_allowed_time": LONGEST,
                "project": next(iter(data["projects"])),
                "publish_at": None,
                **body,
                "id": new_id(),
                "status": "UNPUBLISHED",
                "date_created": iso(self._clock()),
                "published_at": None,
                "currency_code": self.modes["currency"],
            }
            self._check(study)
            data["studies"][study["id"]] = study
            return self._shown_study(study)

    def change_study(self, study_id: str, body: dict[str, Any]) -> dict[str, Any]:
        """A draft may change in everything; later little, and places and slots only grow."""
        with self._open() as data:
            study = self._study(study_id)
            is_draft = study["status"] == "UNPUBLISHED"
            if not is_draft:
                body = self._changes_after_publishing(study, body)
            changed = {**study, **body, **{name: study[name] for name in READ_ONLY}}
            self._check(changed)
            grown = changed["total_available_places"] - study["total_available_places"]
            if not is_draft and grown < 0:
                raise FakeError(400, {"total_available_places": ["can only be increased"]})
            data["studies"][study_id] = changed
            if study["status"] in ("COMPLETED", "AWAITING REVIEW") and grown > 0:
                self._set_study_status(changed, "ACTIVE")
            return self._shown_study(changed)

    def _changes_after_publishing(
        self, study: dict[str, Any], body: dict[str, Any]
    ) -> dict[str, Any]:
        """The fields of a published study that such a body leads to."""
        if fixed := sorted(body.keys() - AFTER_PUBLISHING):
            raise FakeError(400, {name: ["cannot change after publishing"] for name in fixed})
        changes = dict(body)
        if tasks := body.get("access_details"):
            # More tasks, and places with them.
            changes["access_details"] = [*(study.get("access_details") or []), *tasks]
            changes["total_available_places"] = study["total_available_places"] + sum(
                task["total_allocation"] for task in tasks
            )
        if "completion_codes" in body:
            slots = {
                each.get("code"): action["slots"]
                for each in body["completion_codes"]
                for action in each.get("actions", [])
                if "slots" in action
            }
            changes["completion_codes"] = [
                {
                    **each,
                    "actions": [
                        {**action, "slots": slots.get(each["code"], action["slots"])}
                        if "slots" in action
                        else action
                        for action in each["actions"]
                    ],
                }
                for each in study["completion_codes"]
            ]
            if any(
                code_of(study, each.get("code"), each.get("actor") or "participant") is None
                for each in body["completion_codes"]
            ):
                raise FakeError(400, {"completion_codes": ["only slots can change"]})
        return changes

    def delete_study(self, study_id: str) -> dict[str, Any]:
        with self._open() as data:
            if self._study(study_id)["status"] != "UNPUBLISHED":
                raise FakeError(400, "only a draft can be deleted")
            del data["studies"][study_id]
            return {}

    def transition_study(self, study_id: str, body: dict[str, Any]) -> dict[str, Any]:
        with self._open():
            study, action = self._study(study_id), str(body.get("action"))
            status = TRANSITIONS.get((study["status"], action))
            if status is None:
                known = " ".join(name for state, name in TRANSITIONS if state == study["status"])
                raise FakeError(400, f"{action} of a study that is {study['status']}; now: {known}")
            if action in ("PUBLISH", "SCHEDULE_PUBLISH"):
                self._can_be_paid(study)
            if action == "SCHEDULE_PUBLISH":
                study["publish_at"] = _publication(body.get("publish_at") or study["publish_at"])
            if action == "PUBLISH":
                self._publish(study)
            else:
                self._set_study_status(study, status)
            return self._shown_study(study)

    def _can_be_paid(self, study: dict[str, Any]) -> None:
        if self._unpaid_cost(study) > self._balance()[1]:
            raise FakeError(400, "the balance of the workspace does not cover this study")

    def study(self, study_id: str) -> dict[str, Any]:
        with self._open():
            return self._shown_study(self._study(study_id))

    def studies(self, state: str = "", project: str = "") -> list[dict[str, Any]]:
        """All, or those of some states such as "(active|paused)", or of one project."""
        with self._open() as data:
            if project:
                self._one("projects", project)
            wanted = {plain(each) for each in state.split("|") if each}
            return [
                self._shown_study(each)
                for each in data["studies"].values()
                if project in ("", each["project"])
                and (
                    not wanted
                    or plain(each["status"]) in wanted
                    or ("PUBLISHED" in wanted and each["status"] != "UNPUBLISHED")
                )
            ]

    def clone_study(self, study_id: str, body: dict[str, Any]) -> dict[str, Any]:
        """A draft like it, which keeps out who took part in the first unless told otherwise."""
        with self._open():
            study = self._study(study_id)
            fields = {name: value for name, value in study.items() if name not in READ_ONLY}
            filters = list(fields["filters"] or [])
            if body.get("block_previous_participants", True):
                blocked = {"filter_id": "previous_studies_blocklist", "selected_values": [study_id]}
                filters.append(blocked)
            return self.create_study({**fields, "filters": filters})

    def try_study(self, study_id: str, site: str) -> dict[str, str]:
        """A published copy of a draft that only the test participants may enter."""
        with self._open() as data:
            if not self.modes["test_studies"]:
                raise FakeError(403, "test studies are not available to this workspace")
            if not data["testers"]:
                raise FakeError(400, "create a test participant first")
            if self._study(study_id)["status"] != "UNPUBLISHED":
                raise FakeError(400, "only a draft can be tested")
            copy = self.clone_study(study_id, {"block_previous_participants": False})["id"]
            testers = {"filter_id": "custom_allowlist", "selected_values": data["testers"]}
            self.change_study(copy, {"filters": [testers]})
            self.transition_study(copy, {"action": "PUBLISH"})
            return {"study_id": copy, "study_url": f"{site}/studies/{copy}"}

    def create_tester(self, body: dict[str, Any]) -> dict[str, str]:
        with self._open() as data:
            (email,) = required(body, "email")
            if "@" not in email:
                raise FakeError(400, {"email": ["must be an address"]})
            data["testers"].append(new_id())
            return {"participant_id": data["testers"][-1]}

    def progress(self, study_id: str) -> dict[str, Any]:
        """Of a taskflow: how many places of each address are taken."""
        with self._open():
            study = self._study(study_id)
            if not study.get("access_details"):
                raise FakeError(404, "the study has one address alone")
            shares = self._allocated(study)
            return {
                "id": study_id,
                "progress": [
                    {**address, "allocated": shares[address["external_url"]]}
                    for address in study["access_details"]
                ],
            }

    def _check(self, study: dict[str, Any]) -> None:
        for name in WHOLE_NUMBERS:
            if is_whole(study.get(name)):
                study[name] = int(study[name])
        wrong = complaints_about(study, self._live_groups(), self.modes["currency"])
        if complaints := self._complaints_about_filters(study["filters"] or []):
            wrong["filters"] = complaints
        if study["is_external_study_url_secure"] and self.modes["signing"] == "refused":
            wrong["is_external_study_url_secure"] = ["is not available to this workspace"]
        if not wrong and not self.modes["screen_out"]:
            actions = [
                action["action"] for each in study["completion_codes"] for action in each["actions"]
            ]
            if "FIXED_SCREEN_OUT_PAYMENT" in actions:
                message = "FIXED_SCREEN_OUT_PAYMENT is not available to this workspace"
                wrong["completion_codes"] = [message]
        if study.get("project") not in self._data["projects"]:
            wrong["project"] = ["no such project"]
        if study["status"] != "UNPUBLISHED":
            # What was right when it was published stays: a group may be deleted since.
            wrong = {
                name: complaints for name, complaints in wrong.items() if name in AFTER_PUBLISHING
            }
        if wrong:
            raise FakeError(400, wrong)


def _publication(text: Any) -> str:
    try:
        instant(str(text))
    except ValueError:
        raise FakeError(400, {"publish_at": ["an ISO 8601 date and time is required"]}) from None
    return str(text)
