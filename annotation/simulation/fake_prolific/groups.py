"""Participant groups on the fake Prolific."""

from typing import Any

from annotation.simulation.fake_prolific.books import Books, iso, new_id
from annotation.simulation.fake_prolific.rules import FakeError, required, required_list

OWNERS = ("workspace_id", "organisation_id", "project_id")


class Groups(Books):
    """What a researcher's program does with groups, over the books."""

    def create_group(self, body: dict[str, Any]) -> dict[str, Any]:
        """A group of a workspace or an organisation; older clients name a project."""
        with self._open() as data:
            (name,) = required(body, "name")
            self._check_owner(body)
            group: dict[str, Any] = {
                "id": new_id(),
                "name": name,
                "description": body.get("description"),
                **{owner: body.get(owner) for owner in OWNERS},
                "is_deleted": False,
                "members": self._stamped(body),
            }
            data["groups"][group["id"]] = group
            return self._shown_group(group)

    def groups(self, query: dict[str, str]) -> list[dict[str, Any]]:
        """The groups of one owner; `active` is true for those that aren't deleted."""
        with self._open() as data:
            self._check_owner(query)
            is_deleted = query.get("active", "true") == "false"
            return [
                self._shown_group(each)
                for each in data["groups"].values()
                if each["is_deleted"] == is_deleted
                and all(query.get(owner) in (None, each[owner]) for owner in OWNERS)
            ]

    def group(self, group_id: str) -> dict[str, Any]:
        with self._open():
            return self._shown_group(self._one("groups", group_id))

    def change_group(self, group_id: str, body: dict[str, Any]) -> dict[str, Any]:
        """Another name or description, or new members in place of all."""
        with self._open():
            group = self._one("groups", group_id)
            group |= {name: body[name] for name in ("name", "description") if name in body}
            if "participant_ids" in body:
                group["members"] = self._stamped(body)
            return self._shown_group(group)

    def delete_group(self, group_id: str) -> None:
        with self._open():
            self._one("groups", group_id)["is_deleted"] = True

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

    def _check_owner(self, named: dict[str, Any]) -> None:
        given = [owner for owner in OWNERS if named.get(owner)]
        if not given:
            raise FakeError(400, {"workspace_id": ["or organisation_id is required"]})
        known = {
            "workspace_id": self._data["workspaces"],
            "organisation_id": [self._data["organisation"]],
            "project_id": self._data["projects"] if self.modes["retired"] else [],
        }
        for owner in given:
            if named[owner] not in known[owner]:
                raise FakeError(400, {owner: ["there is none with this id"]})

    def _stamped(self, body: dict[str, Any]) -> dict[str, str | None]:
        people = required_list(body, "participant_ids") if body.get("participant_ids") else []
        return dict.fromkeys(people, iso(self._clock()))

    def _shown_group(self, group: dict[str, Any]) -> dict[str, Any]:
        shown = {name: value for name, value in group.items() if name != "members"}
        return {**shown, "participant_count": len(group["members"])}
