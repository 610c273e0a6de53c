"""Whose the fake Prolific is: the researcher, workspaces, projects, messages."""

from typing import Any

from annotation.simulation.fake_prolific.books import Books, instant, iso, new_id
from annotation.simulation.fake_prolific.rules import FakeError, required, required_list


class Workspaces(Books):
    """The researcher's account, over the books."""

    def me(self) -> dict[str, Any]:
        return {
            "id": self._data["owner"],
            "name": "A researcher",
            "email": "researcher@example.org",
            "currency_code": self.modes["currency"],
        }

    def workspaces(self) -> list[dict[str, Any]]:
        with self._open() as data:
            return [self._shown_workspace(each) for each in data["workspaces"].values()]

    def workspace(self, workspace_id: str) -> dict[str, Any]:
        with self._open():
            return self._shown_workspace(self._one("workspaces", workspace_id))

    def create_workspace(self, body: dict[str, Any]) -> dict[str, Any]:
        with self._open() as data:
            (title,) = required(body, "title")
            workspace = {"id": new_id(), "title": title, "owner": data["owner"]}
            data["workspaces"][workspace["id"]] = workspace
            return self._shown_workspace(workspace)

    def change_workspace(self, workspace_id: str, body: dict[str, Any]) -> dict[str, Any]:
        with self._open():
            workspace = self._one("workspaces", workspace_id)
            workspace |= {name: body[name] for name in ("title", "description") if name in body}
            return self._shown_workspace(workspace)

    def projects(self, workspace_id: str) -> list[dict[str, Any]]:
        with self._open() as data:
            self._one("workspaces", workspace_id)
            return [
                {**each, "public_details": None}
                for each in data["projects"].values()
                if each["workspace"] == workspace_id
            ]

    def create_project(self, workspace_id: str, body: dict[str, Any]) -> dict[str, Any]:
        with self._open() as data:
            self._one("workspaces", workspace_id)
            (title,) = required(body, "title")
            project = {
                "id": new_id(),
                "title": title,
                "type": "PRIVATE",
                "owner": data["owner"],
                "workspace": workspace_id,
            }
            data["projects"][project["id"]] = project
            return {**project, "public_details": None}

    def project(self, project_id: str) -> dict[str, Any]:
        with self._open():
            return {**self._one("projects", project_id), "public_details": None}

    def change_project(self, project_id: str, body: dict[str, Any]) -> dict[str, Any]:
        with self._open():
            project = self._one("projects", project_id)
            project |= {name: body[name] for name in ("title", "description") if name in body}
            return {**project, "public_details": None}

    def _shown_workspace(self, workspace: dict[str, Any]) -> dict[str, Any]:
        me = self.me()
        user = {
            **{name: me[name] for name in ("id", "name", "email")},
            "roles": ["WORKSPACE_ADMIN"],
        }
        projects = [
            {**each, "public_details": None}
            for each in self._data["projects"].values()
            if each["workspace"] == workspace["id"]
        ]
        shown = {**workspace, "users": [user], "projects": projects}
        return {**shown, "currency_code": self.modes["currency"]}

    # Messages

    def send_message(self, body: dict[str, Any]) -> None:
        """From the researcher to one person."""
        with self._open() as data:
            recipient, text, study = required(body, "recipient_id", "body", "study_id")
            self._study(study)
            self._post(data["owner"], recipient, text, study)

    def send_messages(self, body: dict[str, Any]) -> None:
        """From the researcher to several."""
        with self._open() as data:
            text, study = required(body, "body", "study_id")
            self._study(study)
            for recipient in required_list(body, "ids"):
                self._post(data["owner"], recipient, text, study)

    def send_to_group(self, body: dict[str, Any]) -> None:
        """From the researcher to everybody in a group."""
        with self._open() as data:
            group, text = required(body, "participant_group_id", "body")
            for recipient in self._one("groups", group)["members"]:
                self._post(data["owner"], recipient, text, body.get("study_id"))

    def write(self, body: dict[str, Any]) -> dict[str, Any]:
        """From a participant to the researcher."""
        with self._open() as data:
            sender, text = required(body, "participant_id", "body")
            return self._post(sender, data["owner"], text, body.get("study_id"))

    def messages(self, query: dict[str, str]) -> list[dict[str, Any]]:
        """With one person, or with all since a time."""
        with self._open() as data:
            person, since = query.get("user_id"), query.get("created_after")
            if not person and not since:
                raise FakeError(400, {"user_id": ["or created_after is required"]})
            try:
                after = instant(since) if since else 0
            except ValueError:
                raise FakeError(400, {"created_after": ["an ISO 8601 time is required"]}) from None
            excluded = query.get("excluded_sender_ids", "").split(",")
            return [
                _shown_message(each)
                for each in data["messages"]
                if person in (None, each["sender_id"], each["recipient"])
                and each["sender_id"] not in excluded
                and instant(each["sent_at"]) > after
            ]

    def unread(self) -> list[dict[str, Any]]:
        """What participants wrote."""
        with self._open() as data:
            return [
                _shown_message(each)
                for each in data["messages"]
                if each["recipient"] == data["owner"]
            ]

    def _post(self, sender: str, recipient: str, text: str, study: Any) -> dict[str, Any]:
        message = {
            "id": new_id(),
            "sender_id": sender,
            "recipient": recipient,
            "body": text,
            "sent_at": iso(self._clock()),
            "type": "message",
            "channel_id": "-".join(sorted((sender, recipient))),
            "data": {"study_id": study} if study else {},
        }
        self._data["messages"].append(message)
        return _shown_message(message)


def _shown_message(message: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in message.items() if name != "recipient"}
