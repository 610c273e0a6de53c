"""API views that list, show, import and change tasks."""

from datetime import datetime
from typing import Any, ClassVar

from django.db.models import Count, QuerySet
from django.shortcuts import get_object_or_404
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.parsers import MultiPartParser
from rest_framework.request import Request
from rest_framework.response import Response

from annotation.library.task_import import CardForm
from annotation.web import jobs
from annotation.web.access import may_run
from annotation.web.form_bodies import check_known
from annotation.web.paging import RowsView, field_of
from annotation.web.problems import Conflict, Unprocessable
from annotation.web.views import ApiView, tagged
from tasks import data_report, upload_jobs, uploads
from tasks import jobs as all_jobs
from tasks.columns import Column
from tasks.models import Split, Task, TaskUpload

COLUMNS = [
    Column("name", meaning="task name"),
    Column("version", meaning="version, which increases when the content changes", kind=int),
    Column("title", meaning="title shown to annotators", get="card.title"),
    Column("answer", meaning="answer type", get="card.answered_by"),
    Column("metric", meaning="metric on the card", get="card.metric"),
    Column("training_sizes", meaning="numbers of shots that have training files", kind=list[int]),
    Column("content_hash", meaning="SHA-256 of the card and the examples"),
    Column("imported_at", meaning="UTC", kind=datetime),
]


class ImportedShape(serializers.Serializer):
    """A task that was imported, or that already existed with the same content."""

    name = serializers.CharField()
    version = serializers.IntegerField()
    created = serializers.BooleanField(help_text="false if the same content already existed")


class JobBegun(serializers.Serializer):
    """A job, because the work takes too long for a request. POST to /jobs/ID/run/ to run it."""

    job = jobs.JobShape()


class ImportBody(serializers.Serializer):
    """The files of a task, or a ZIP archive of them. The card can be sent as a separate field."""

    card = serializers.FileField(required=False, help_text="the card, task.toml")
    files = serializers.ListField(child=serializers.FileField(), required=False)
    archive = serializers.FileField(required=False, help_text="a ZIP archive")
    shipped_card = serializers.CharField(
        required=False, help_text="name of a CLUES task, to use the card included with Handful"
    )
    rechain = serializers.BooleanField(required=False, help_text="renumber splits to nest them")


class SplitShape(serializers.Serializer):
    kind = serializers.ChoiceField(Split.Kind.choices)
    shots = serializers.IntegerField(allow_null=True)
    number = serializers.IntegerField(allow_null=True)
    file = serializers.CharField(source="filename")
    examples = serializers.IntegerField(source="size")


def as_record(task: Task) -> dict[str, Any]:
    record = {column.name: column.value(task) for column in COLUMNS}
    splits = task.splits.annotate(size=Count("examples"))
    return record | {"splits": SplitShape(splits, many=True).data}


class TaskShape(serializers.Serializer):
    """A row of the list, with the task's files."""

    def get_fields(self) -> dict[str, Any]:
        fields = {column.name: field_of(column) for column in COLUMNS}
        return fields | {"splits": SplitShape(many=True)}


class Tasks(RowsView):
    """List all task versions, or import a new one."""

    columns = COLUMNS
    summary = "All versions of all tasks"
    filters: ClassVar = {"name": ("name", None)}

    def rows(self, request: Request, **names: Any) -> QuerySet[Task]:
        return Task.objects.all()

    def get_parsers(self) -> list[Any]:
        return [MultiPartParser()]

    @extend_schema(
        summary="Import a task from files",
        description="Either all files are imported or none. The response is 201 with the task, 422"
        " with all errors, or 202 with a job if the files are large.",
        request={"multipart/form-data": ImportBody},
        responses={201: ImportedShape, 200: ImportedShape, 202: JobBegun},
    )
    def post(self, request: Request) -> Response:
        may_run(request)
        names = set(request.data) | set(request.FILES)
        check_known(dict.fromkeys(names), ImportBody().fields)
        form = CardForm({"card": request.data.get("shipped_card", "")})
        if not form.is_valid():
            raise Unprocessable({"shipped_card": [str(e) for e in form.errors["card"]]})
        uploads.drop_old()
        upload = TaskUpload.objects.create(owner=request.user, card_name=form.cleaned_data["card"])
        with uploads.dropped_on_error(upload):
            return _import_files(request, upload)


def _import_files(request: Request, upload: TaskUpload) -> Response:
    """Import the files and return the response. The caller deletes the upload if it is rejected."""
    card = request.FILES.get("card")
    if card is not None:
        card.name = "task.toml"
    files = [card] if card is not None else []
    files += files_in(request, "files", "archive")
    if not files:
        raise Unprocessable({"files": ["Send task files, or a ZIP archive in the field archive."]})
    uploads.add(upload, files)
    faults = [*upload.refused, *upload_jobs.problems(upload)]
    if faults:
        raise Unprocessable({"files": faults})
    rechain = str(request.data.get("rechain", "")).lower() in ("true", "1", "on")
    upload_jobs.import_whole(upload, request.user, rechain)
    return imported(upload)


def imported(upload: TaskUpload) -> Response:
    """Return the task of a small upload, which is then deleted, or the job of a large one."""
    job = upload.job
    if job is None:
        raise Conflict("The files changed in the meantime. Send them again.")
    if uploads.size(upload) <= upload_jobs.SMALL:
        while not (job.is_done or job.has_failed) and all_jobs.run_chunk(job):
            pass
    if job.has_failed:
        raise Unprocessable({"files": [job.error]})
    if not job.is_done:
        return Response({"job": jobs.as_record(job)}, status=202)
    result = job.result[-1]
    if "problems" in result:
        raise Unprocessable({"files": result["problems"]})
    uploads.drop(upload)
    return Response(result, status=201 if result["created"] else 200)


class TaskDetail(ApiView):
    @extend_schema(responses=TaskShape, summary="One version of a task")
    def get(self, request: Request, name: str, version: int) -> Response:
        return tagged(request, as_record(get_object_or_404(Task, name=name, version=version)))


class TaskCard(ApiView):
    @extend_schema(responses=OpenApiTypes.OBJECT, summary="A task's card")
    def get(self, request: Request, name: str, version: int) -> Response:
        return tagged(request, get_object_or_404(Task, name=name, version=version).card.as_dict())


class TaskReport(ApiView):
    class ReportShape(serializers.Serializer):
        """The data report, as the sentences on the page (`lines`) and as numbers (`report`)."""

        lines = serializers.ListField(child=serializers.CharField())
        report = serializers.DictField()

    @extend_schema(responses=ReportShape, summary="A task's data report")
    def get(self, request: Request, name: str, version: int) -> Response:
        report = get_object_or_404(Task, name=name, version=version).report
        return tagged(
            request,
            {"lines": data_report.lines(report), "report": data_report.report_from_0_to_1(report)},
        )


def files_in(request: Request, *names: str) -> list[Any]:
    return [file for name in names for file in request.FILES.getlist(name)]
