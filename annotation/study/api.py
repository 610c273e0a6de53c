"""API views for studies: their designs, status, copies and teams."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from typing import Any, ClassVar

from django.core.exceptions import ValidationError
from django.db import IntegrityError, transaction
from django.db.models import QuerySet
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from annotation.models import Study, StudyStatus
from annotation.study import design, design_file, lifecycle, minutes, pages, team_pages
from annotation.web import form_bodies
from annotation.web.access import may_run, right_to, studies_of, study_of
from annotation.web.form_bodies import Numbers, Texts, as_object
from annotation.web.paging import RowsView, field_of, page_of, small_list
from annotation.web.problems import Conflict, Unprocessable
from annotation.web.views import ApiView, Twin, etag, strong, tagged
from annotation.web.wording import join_url
from tasks.columns import Column

COLUMNS = [
    Column("name", meaning="name in URLs and files"),
    Column("title", meaning="title shown to annotators"),
    Column("status", meaning="draft, open, paused or closed"),
    Column("role", meaning="your role: owner, analyst or payer"),
    Column("rehearsal", meaning="true if simulated annotators are allowed", kind=bool),
    Column(
        "tasks",
        meaning="names of the tasks",
        get=lambda study: sorted(task.name for task in study.tasks.all()),
        kind=list[str],
    ),
    Column("shots", meaning="numbers of shots", kind=list[int]),
    Column("splits", meaning="training splits", kind=list[int]),
    Column("annotators", meaning="seats in each scenario, as designed", kind=int),
    Column("manifest_hash", meaning="SHA-256 of the frozen design; empty for drafts"),
    Column("created_at", meaning="UTC", kind=datetime),
    Column("opened_at", meaning="UTC", kind=datetime),
    Column("archived_at", meaning="UTC; null if not archived", kind=datetime),
]


class DesignShape(serializers.Serializer):
    """The keys of `create_study --design FILE`, listed in docs/schemas/design.json."""

    name = serializers.CharField(required=False)
    title = serializers.CharField(required=False)
    tasks = Texts(required=False, help_text="names, or NAME@VERSION")
    shots = Numbers(required=False)
    splits = Numbers(required=False)
    annotators = serializers.IntegerField(required=False)
    rehearsal = serializers.BooleanField(required=False)
    pay = serializers.DictField(required=False)
    qualification = serializers.DictField(required=False)
    cross_task = serializers.DictField(required=False)


class Problems(serializers.Serializer):
    """The result of checking a design, which is not stored."""

    valid = serializers.BooleanField()
    problems = serializers.DictField(child=Texts())
    doubts = Texts(help_text="warnings about the promised minutes")


def as_record(study: Study, request: Request) -> dict[str, Any]:
    record = {column.name: column.value(study) for column in COLUMNS}
    if study.rights & {"read", "own"}:
        record["design"] = design_file.as_data(study)
    record["link"] = join_url(request, study.link_code)
    record["actions"] = [action for action, _label in lifecycle.allowed_actions(study)]
    record["missing"] = design.missing(study) if study.is_draft else []
    return record


class StudyShape(serializers.Serializer):
    """A row of the list, with its design and what can be done next."""

    def get_fields(self) -> dict[str, Any]:
        return {column.name: field_of(column, allow_null=True) for column in COLUMNS} | {
            "design": DesignShape(required=False, help_text="for members who can read designs"),
            "link": serializers.CharField(help_text="URL for annotators"),
            "actions": Texts(help_text="status changes that are possible now"),
            "missing": Texts(help_text="settings to complete before a draft can be opened"),
        }


class Studies(RowsView):
    """List the studies of which you are a member, or create one."""

    columns = COLUMNS
    summary = "Your studies"
    filters: ClassVar = {"status": ("status", StudyStatus.values)}

    def rows(self, request: Request, **names: Any) -> QuerySet[Study]:
        return studies_of(request).prefetch_related("tasks")

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        if request.method == "POST":
            self.parameters = frozenset({"validate"})
        super().initial(request, *args, **kwargs)

    @extend_schema(
        summary="Create a draft from a design",
        description="With `?validate=true`, the design is only checked: the response is 200 and"
        " lists the errors.",
        parameters=[OpenApiParameter("validate", str, enum=["true", "false"])],
        request=DesignShape,
        responses={201: StudyShape, 200: Problems},
    )
    def post(self, request: Request) -> Response:
        may_run(request)
        only = request.query_params.get("validate", "false")
        if only not in ("true", "false"):
            raise Unprocessable({"validate": ["Expected true or false."]})
        body = as_object(request.data)
        if only == "true":
            return Response(validated(body, request.user))
        study, tasks, upstream = read_design(body, Study(owner=request.user))
        design.suggest_limits(study, tasks)
        save(study, tasks, upstream)
        return Response(as_record(study_of(request, study.name, "see"), request), status=201)


def read_design(body: dict[str, Any], study: Study) -> tuple[Study, list[Any], list[Any]]:
    """Set the design on the study, and return it with its tasks. Raises Unprocessable."""
    try:
        given = design_file.from_data("body", body)
        tasks, upstream, sham = given.found()
    except design_file.DesignFileError as error:
        text = str(error).removeprefix("body: ")
        key = text.partition(":")[0].partition(".")[0]
        raise Unprocessable({key if key in body else "body": [text]}) from None
    for field, value in given.fields.items():
        setattr(study, field, value)
    if study.pk is None or "sham_task" in body.get("cross_task", {}):
        study.sham_task = sham
    study.title = given.fields.get("title", study.title or study.name)
    return study, tasks, upstream


def save(study: Study, tasks: list[Any], upstream: list[Any], made_from: str | None = None) -> None:
    """Save a draft. Raises Unprocessable with errors by design key, or Conflict if it is frozen."""
    with api_errors():
        design.save_draft(study, tasks, made_from=made_from, upstream=upstream)


@contextmanager
def api_errors() -> Iterator[None]:
    """Convert errors in saving a draft to API errors. Nothing is stored if one is raised."""
    try:
        with transaction.atomic():
            yield
    except ValidationError as error:
        raise Unprocessable(by_key(error)) from None
    except design.DesignError as error:
        raise Conflict(str(error)) from None
    except IntegrityError:
        raise Conflict("Another study was given this name at the same moment.") from None


def by_key(error: ValidationError) -> dict[str, list[str]]:
    return {design_file.key_of(field): messages for field, messages in error.message_dict.items()}


def validated(body: dict[str, Any], owner: Any) -> dict[str, Any]:
    problems: dict[str, list[str]] = {}
    doubts: list[str] = []
    try:
        study, tasks, upstream = read_design(body, Study(owner=owner))
        design.suggest_limits(study, tasks)
        design.check_design(study, tasks, upstream)
    except Unprocessable as error:
        problems = error.detail
    except ValidationError as error:
        problems = by_key(error)
    else:
        doubts = [] if study.is_cross_task else minutes.doubts(study, tasks)
    return {"valid": not problems, "problems": problems, "doubts": doubts}


class StudyDetail(Twin):
    """A single study. It can be edited while it is a draft."""

    step = pages.Delete
    method = "delete"

    @extend_schema(responses=StudyShape, summary="One study with its design")
    def get(self, request: Request, name: str) -> Response:
        return tagged(request, as_record(study_of(request, name, "see"), request))

    @extend_schema(
        request=DesignShape,
        responses={200: StudyShape},
        summary="Change a draft",
        description="Omitted keys remain unchanged. If you send the study's ETag in If-Match and"
        " the draft has been changed since, the response is 409.",
    )
    def patch(self, request: Request, name: str) -> Response:
        study = study_of(request, name, right_to("study_edit"))
        if not study.is_draft:
            raise Conflict(f"The study is {study.status}, so its design is frozen.")
        version = design.version(study)
        tag = strong(request.headers.get("If-Match", "*"))
        if tag not in ("*", etag(as_record(study, request))):
            raise Conflict("The draft has been changed in the meantime.")
        body = as_object(request.data)
        current_tasks, current_upstream = list(study.tasks.all()), list(study.upstream_tasks.all())
        study, tasks, upstream = read_design(body, study)
        cross = body.get("cross_task")
        names_upstream = isinstance(cross, dict) and "upstream_tasks" in cross
        save(
            study,
            tasks if "tasks" in body else current_tasks,
            upstream if names_upstream else current_upstream,
            version,
        )
        return Response(as_record(study_of(request, study.name, "see"), request))


class Status(Twin):
    """Change the status of a study. The URL names the change."""

    step = pages.ChangeStatus
    action = ""  # one of lifecycle.TRANSITIONS, from the URL
    reply = StudyShape

    def do(self, study: Study, data: dict[str, Any], request: Request) -> Response:
        """Make the change that the URL names. Programs need not confirm the maximum cost."""
        return super().do(study, {"action": self.action, "agreed": None}, request)

    def payload(self, study: Study, result: str) -> Any:
        return as_record(study, self.request)


class Clone(ApiView):
    """Copy a study's design to a new draft."""

    class CloneBody(serializers.Serializer):
        name = serializers.CharField()
        title = serializers.CharField(required=False)
        rehearsal = serializers.BooleanField(required=False, default=False)

    @extend_schema(
        request=CloneBody,
        responses={201: StudyShape},
        summary="Create a draft with the same design",
        description='`{"rehearsal": true}` creates a rehearsal for simulated annotators.',
    )
    def post(self, request: Request, name: str) -> Response:
        may_run(request)
        source = study_of(request, name, "read")
        values = form_bodies.read(self.CloneBody, request.data)
        if not isinstance(request.data["name"], str):
            raise Unprocessable({"name": ["Expected a string."]})
        with api_errors():
            study = lifecycle.clone(source, request.user, dict(values))
        return Response(as_record(study_of(request, study.name, "see"), request), status=201)


class Team(Twin):
    """Add a member by user name, change a role, or remove a member."""

    step = team_pages.Team
    more_fields: ClassVar = {
        "username": serializers.CharField(),
        "role": serializers.CharField(required=False, help_text="owner, analyst or payer"),
        "was": serializers.CharField(
            required=False, help_text="the role you expect; if it differs, nothing is changed"
        ),
    }

    @extend_schema(
        summary="A study's team",
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
