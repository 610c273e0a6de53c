"""Changes to a running study in the API: seats, lists, switches, budget, team, links, webhooks."""

from typing import Any, ClassVar

from django.db.models import QuerySet
from django.shortcuts import get_object_or_404
from django.urls import reverse
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from annotation.audit import log as audit_log
from annotation.models import Delivery, Event, Study, Topic, Webhook
from annotation.monitoring import progress
from annotation.notices import webhooks
from annotation.recruitment import links_pages as links
from annotation.recruitment import pages as lists
from annotation.recruitment.links import links_with_states
from annotation.study import lifecycle
from annotation.study import team as members
from annotation.study.team_pages import MemberForm, RemovalForm, RoleForm
from annotation.web import form_bodies
from annotation.web.access import study_of
from annotation.web.fields import PageForm
from annotation.web.form_bodies import as_object, check_known
from annotation.web.paging import RowsView, documented, page_of, small_list
from annotation.web.problems import Unprocessable
from annotation.web.views import ApiView, PostTwin, StudyTwin, tagged
from tasks.columns import Column

SCENARIOS = [
    Column("id", meaning="number of the scenario", get=lambda row: row.scenario.pk),
    Column("task", meaning="name of the task", get=lambda row: row.scenario.task.name),
    Column("task_version", meaning="its version", get=lambda row: row.scenario.task.version),
    Column("shots", meaning="number of shots", get=lambda row: row.scenario.shots),
    Column(
        "split",
        meaning="number of the training split; null at zero shots",
        get=lambda row: row.scenario.split_number,
    ),
    Column("arm", meaning="of a cross-task study, else empty", get=lambda row: row.scenario.arm),
    Column("seats", meaning="seats of people"),
    Column("completed", meaning="seats of people who completed and are in the analysis"),
    Column("working", meaning="seats of people who have begun and not ended"),
    Column("free", meaning="seats that a person can take"),
    Column("simulated", meaning="seats taken by simulated annotators"),
]
RULES = [
    Column("id", meaning="number of the entry", get=lambda rule: rule.pk),
    Column("effect", meaning="allow or deny"),
    Column("criterion", meaning="task, study or people"),
    Column("value", meaning="name of the task, study or platform"),
    Column("made_by", meaning="user name", get=lambda rule: _name(rule.made_by)),
    Column("ended_at", meaning="UTC; null while it holds"),
]


def _name(user: Any) -> str | None:
    return None if user is None else user.get_username()


class Scenarios(ApiView):
    """The seats of each scenario, as one page."""

    @extend_schema(
        summary="The scenarios of a study, with their seats",
        operation_id="scenarios_list",
        responses=page_of(
            "Scenarios",
            documented(
                SCENARIOS,
                dict.fromkeys(
                    ("id", "task_version", "shots", "split", "seats", "completed", "working",
                     "free", "simulated"),
                    serializers.IntegerField,
                ),
            ),
        ),
    )  # fmt: skip
    def get(self, request: Request, name: str) -> Response:
        study = study_of(request, name, "see")
        rows = progress.for_study(study).seats
        return small_list({c.name: c.value(row) for c in SCENARIOS} for row in rows)


class Progress(ApiView):
    class ProgressShape(serializers.Serializer):
        """What a polling client needs; with its ETag the reply is 304 while nothing changes."""

        status = serializers.CharField()
        seats = serializers.IntegerField(help_text="of people, all scenarios")
        completed = serializers.IntegerField()
        time_left = serializers.CharField(help_text="work left, in words")

    @extend_schema(responses=ProgressShape, summary="How far a study is")
    def get(self, request: Request, name: str) -> Response:
        study = study_of(request, name, "see")
        now = progress.for_study(study)
        shown = {
            "status": study.status,
            "seats": now.all_seats,
            "completed": now.completed,
            "time_left": now.time_left,
        }
        return tagged(request, shown)


class Events(RowsView):
    columns = audit_log.COLUMNS
    kinds: ClassVar = {
        "at": serializers.DateTimeField,
        **dict.fromkeys(("before", "after"), serializers.JSONField),
    }
    summary = "The audit log of a study: what anybody did, newest last"
    filters: ClassVar = {"topic": ("topic", Topic.values), "by": ("by__username", None)}
    streams = True

    def rows(self, request: Request, **names: Any) -> QuerySet[Any]:
        return audit_log.of_study(study_of(request, names["name"], "read"))


class Switches(PostTwin):
    """Set switches; omitted ones stay unchanged."""

    step = lists.Switches

    def adapted(self, about: Study, sent: dict[str, Any]) -> dict[str, Any]:
        wrong = {k: ["Write true or false."] for k, v in sent.items() if not isinstance(v, bool)}
        if wrong:
            raise Unprocessable(wrong)
        return {name: getattr(about, name) for name in lifecycle.SWITCHES} | sent


class Lists(PostTwin):
    """Entries that allow or deny workers; `{"end": ID}` ends one."""

    step = lists.Lists
    more_fields: ClassVar = {
        "end": serializers.IntegerField(required=False, help_text="the entry to end, alone"),
    }

    @extend_schema(
        summary="The allow and deny lists",
        operation_id="lists_list",
        responses=page_of(
            "Lists",
            documented(
                RULES, {"id": serializers.IntegerField, "ended_at": serializers.DateTimeField}
            ),
        ),
    )
    def get(self, request: Request, name: str) -> Response:
        study = study_of(request, name, "read")
        rules = study.access_rules.select_related("made_by").order_by("pk")
        return small_list({c.name: c.value(rule) for c in RULES} for rule in rules)

    def adapted(self, about: Study, sent: dict[str, Any]) -> dict[str, Any]:
        if "end" in sent:
            form_bodies.check_known(sent, {"end"})
        return sent


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
        rows = [{"username": _name(study.owner), "role": "owner"}]
        team = study.members.select_related("user")
        rows += [{"username": _name(member.user), "role": member.role} for member in team]
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


class LinkRow(serializers.Serializer):
    name = serializers.CharField()
    link = serializers.CharField()
    state = serializers.CharField()


class Links(PostTwin):
    """Create personal links, one for each name."""

    step = links.Links
    more_fields: ClassVar = {
        "names": serializers.ListField(child=serializers.CharField(), help_text="one link each"),
    }
    reply = LinkRow(many=True)

    @extend_schema(
        summary="The personal links of a study, for who may see identities",
        operation_id="links_list",
        responses=page_of("Links", LinkRow().get_fields()),
    )
    def get(self, request: Request, name: str) -> Response:
        study = study_of(request, name, "pay")
        return small_list(self._rows(request, links_with_states(study)))

    def adapted(self, about: Study, sent: dict[str, Any]) -> dict[str, Any]:
        names = sent.get("names")
        if isinstance(names, list):
            if not all(isinstance(name, str) and name.strip() for name in names):
                raise Unprocessable({"names": ["Write a list of names, none of them empty."]})
            if any(len(name.splitlines()) > 1 for name in names):
                raise Unprocessable({"names": ["A name is one line."]})
            return sent | {"names": "\n".join(names)}
        return sent

    def told(self, about: Study, done: Any) -> Any:
        return self._rows(self.request, [(link, "unused") for link in done])

    def _rows(self, request: Request, links: Any) -> list[dict[str, str]]:
        address = request.build_absolute_uri
        return [
            {"name": k.name, "link": address(reverse("landing", args=[k.code])), "state": state}
            for k, state in links
        ]


class WebhookShape(serializers.Serializer):
    """One webhook; `secret` is shown only when it is created."""

    id = serializers.IntegerField()
    url = serializers.CharField()
    events = serializers.ListField(child=serializers.ChoiceField(Event.values))
    created_at = serializers.DateTimeField()


class NewWebhookShape(WebhookShape):
    secret = serializers.CharField(help_text="whsec_..., as Standard Webhooks has it")


class WebhookBody(serializers.Serializer):
    url = serializers.CharField(help_text="https://..., at a public address")
    events = serializers.ListField(child=serializers.ChoiceField(Event.values))


def as_record(webhook: Webhook) -> dict[str, Any]:
    """Return one webhook without its secret."""
    return {
        "id": webhook.pk,
        "url": webhook.url,
        "events": webhook.events,
        "created_at": webhook.created_at,
    }


class Webhooks(ApiView):
    """The webhooks of a study, for its owners."""

    @extend_schema(
        summary="The webhooks of a study",
        operation_id="webhooks_list",
        responses=page_of("Webhooks", WebhookShape().get_fields()),
    )
    def get(self, request: Request, name: str) -> Response:
        study = study_of(request, name, "own")
        return small_list(map(as_record, study.webhooks.all()))

    @extend_schema(summary="Make a webhook", request=WebhookBody, responses={201: NewWebhookShape})
    def post(self, request: Request, name: str) -> Response:
        study = study_of(request, name, "own")
        sent = as_object(request.data)
        check_known(sent, {"url", "events"})
        body = WebhookBody(data=sent)
        if not body.is_valid():
            raise Unprocessable(body.errors)
        data = body.validated_data
        try:
            webhook, secret = webhooks.make(study, data["url"], data["events"], request.user)
        except webhooks.WebhookError as error:
            raise Unprocessable({"url": [str(error)]}) from None
        return Response(as_record(webhook) | {"secret": secret}, status=201)


class OneWebhook(ApiView):
    @extend_schema(summary="End a webhook", responses={204: None})
    def delete(self, request: Request, name: str, pk: int) -> Response:
        study = study_of(request, name, "own")
        webhook = get_object_or_404(study.webhooks, pk=min(pk, 2**62))
        webhook.end(by=request.user)
        return Response(status=204)


DELIVERIES = [
    Column("id", meaning="the same in each attempt: take it once", get=lambda d: str(d.key)),
    Column("event", meaning="what happened"),
    Column("subject", meaning="what it is about"),
    Column("state", meaning="waiting, delivered or failed"),
    Column("attempts", meaning="how often it was sent"),
    Column("last_status", meaning="of the last reply; null: none"),
    Column("last_error", meaning="why it did not arrive"),
    Column("created_at", meaning="UTC"),
    Column("next_at", meaning="of the next attempt, UTC"),
    Column("delivered_at", meaning="UTC"),
]


class Deliveries(RowsView):
    columns = DELIVERIES
    kinds: ClassVar = {
        "attempts": serializers.IntegerField,
        "last_status": serializers.IntegerField,
        "created_at": serializers.DateTimeField,
        "next_at": serializers.DateTimeField,
        "delivered_at": serializers.DateTimeField,
    }
    summary = "What a webhook was sent, and what came of it"
    filters: ClassVar = {"state": ("state", Delivery.State.values)}

    def rows(self, request: Request, **names: Any) -> QuerySet[Delivery]:
        study = study_of(request, names["name"], "own")
        return get_object_or_404(study.webhooks, pk=min(names["pk"], 2**62)).deliveries.all()
