"""The team of a study in the API."""

from typing import Any, ClassVar

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from annotation.models import Study
from annotation.study import team as members
from annotation.study.team_pages import MemberForm, RemovalForm, RoleForm
from annotation.web import form_bodies
from annotation.web.access import study_of
from annotation.web.fields import PageForm
from annotation.web.paging import page_of, small_list
from annotation.web.problems import Unprocessable
from annotation.web.views import StudyTwin

ACTIONS = {"add": MemberForm, "change": RoleForm, "remove": RemovalForm}


class Team(StudyTwin):
    """Add a member by user name, change a role, or remove a member."""

    page = "team"
    more_fields: ClassVar = {
        "action": serializers.ChoiceField(list(ACTIONS)),
        "username": serializers.CharField(),
        "role": serializers.CharField(required=False, help_text="owner, analyst or payer"),
    }
    summary = "Add a member, change their role, or remove them"
    faults: ClassVar = {members.TeamError: "username"}

    @extend_schema(
        summary="The team of a study",
        operation_id="team_list",
        responses=page_of(
            "Team", {"username": serializers.CharField(), "role": serializers.CharField()}
        ),
    )
    def get(self, request: Request, name: str) -> Response:
        study = study_of(request, name, "own")
        rows = [{"username": study.owner.get_username(), "role": "owner"}]
        team = study.members.select_related("user")
        rows += [{"username": member.user.get_username(), "role": member.role} for member in team]
        return small_list(rows)

    def form(self, about: Study, sent: dict[str, Any]) -> PageForm:
        action, username = sent.get("action"), sent.get("username")
        if not isinstance(action, str) or action not in ACTIONS:
            raise Unprocessable({"action": [f"Write one of {', '.join(ACTIONS)}."]})
        if action == "add":
            fields = {k: v for k, v in sent.items() if k != "action"}
            return MemberForm(form_bodies.as_form_data(fields))
        member = about.members.filter(user__username=str(username)).first()
        if member is None:
            raise Unprocessable({"username": ["They are not (or no longer) in the team."]})
        if action == "remove":
            return RemovalForm(about, form_bodies.as_form_data({"member": member.pk}))
        fields = {"member": member.pk, "was": member.role, "role": sent.get("role")}
        return RoleForm(about, form_bodies.as_form_data(fields))

    def do(self, about: Study, sent: dict[str, Any], request: Request) -> dict[str, str]:
        match request.data["action"]:
            case "add":
                members.add_colleague(about, sent["username"], sent["role"], request.user)
            case "change":
                member, was = sent["member"], sent["was"]
                members.change(about, member.pk, sent["role"], request.user, was)
            case "remove":
                members.remove(about, sent["member"].pk, request.user)
        return {"done": "The team was changed."}
