"""API views that list, show and change tasks, and import them from files in any format.

Datasets are imported with the pages' forms, without the preview that the pages show.
"""

import dataclasses
from codecs import BOM_UTF8
from datetime import datetime
from io import BytesIO
from typing import Any, ClassVar

from django import forms
from django.core.exceptions import PermissionDenied
from django.db.models import Count, QuerySet
from django.shortcuts import get_object_or_404
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.exceptions import ParseError
from rest_framework.parsers import MultiPartParser
from rest_framework.request import Request
from rest_framework.response import Response

from annotation.library.dataset_import import ColumnsForm, ReadingForm
from annotation.library.task_import import MAX_NAMES, CardForm
from annotation.web import form_bodies, jobs
from annotation.web.access import may_run
from annotation.web.form_bodies import StrictJSONParser, check_known
from annotation.web.paging import RowsView, field_of
from annotation.web.problems import Conflict, Unprocessable
from annotation.web.views import ApiView, tagged
from tasks import data_report, dataset_uploads, teams, upload_jobs, uploads
from tasks import jobs as all_jobs
from tasks.columns import Column
from tasks.formats import FormatError
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
# Keys of the card that have no form field. parse_card checks their values.
CARD_KEYS = ("segments", "family", "gold_rule", "granularity", "max_spans", "longest", "metric")


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
        numbers = data_report.report_from_0_to_1(report)
        return tagged(request, {"lines": data_report.lines(report), "report": numbers})


def files_in(request: Request, *names: str) -> list[Any]:
    return [file for name in names for file in request.FILES.getlist(name)]


# Datasets -----------------------------------------------------------------------------------------


def mapping_of(request: Request, name: str) -> dict[str, Any]:
    """Parse the JSON object in a field of a multipart body. Raises Unprocessable."""
    text = request.data.get(name, "{}")
    content = text.encode() if isinstance(text, str) else text.read()
    try:
        data = StrictJSONParser().parse(BytesIO(content.removeprefix(BOM_UTF8)))
    except ParseError:
        data = None
    if not isinstance(data, dict):
        raise Unprocessable({name: ["Expected the options as a JSON object."]})
    return data


class DatasetBody(serializers.Serializer):
    """A dataset file, and how to make a task from it."""

    file = serializers.FileField()
    mapping = serializers.CharField(
        help_text='options of make_task: {"name": ..., "kind": "choice" (or "spans", ...), "text":'
        ' [columns], "gold": column, "labels": [...], "shots": [10], "test": 50, "seed": 7, ...}'
    )


class DatasetForm(ReadingForm):
    file = forms.FileField(error_messages={"required": "Choose a file that is not empty."})


class Datasets(ApiView):
    """Import a dataset in a single request, without the preview that the pages show."""

    parser_classes: ClassVar = [MultiPartParser]

    @extend_schema(
        summary="Make a task from a dataset",
        request={"multipart/form-data": DatasetBody},
        responses={201: ImportedShape, 200: ImportedShape, 202: JobBegun},
    )
    def post(self, request: Request) -> Response:
        may_run(request)
        check_known(dict.fromkeys([*request.data, *request.FILES]), DatasetBody().fields)
        mapping = mapping_of(request, "mapping")
        known_keys = {*ReadingForm.base_fields, *ColumnsForm.base_fields, *CARD_KEYS}
        check_known(mapping, known_keys)
        reading = {k: v for k, v in mapping.items() if k in ReadingForm.base_fields}
        source = DatasetForm(form_bodies.as_form_data(reading), request.FILES)
        form_bodies.check(source)
        uploads.drop_old()
        file, options = source.cleaned_data["file"], (source.reading, request.user)
        try:
            names = [name for name, _content in uploads.parts(file)]
            if len(names) != 1:
                found = ", ".join(names[:MAX_NAMES]) or "no files"
                raise uploads.UploadError(f"{file.name}: found {found}; expected one dataset.")
            (upload,) = [dataset_uploads.begin(*part, *options) for part in uploads.parts(file)]
        except uploads.UploadError as error:
            raise Unprocessable({"file": [str(error)]}) from None
        with uploads.dropped_on_error(upload):
            return self._import(request, upload, source, mapping)

    def _import(
        self, request: Request, upload: TaskUpload, source: DatasetForm, mapping: dict[str, Any]
    ) -> Response:
        proposed = ColumnsForm(upload).initial
        fields = {k: proposed[k] for k in ("shots", "splits", "test", "seed")}
        fields |= {k: v for k, v in mapping.items() if k in ColumnsForm.base_fields}
        form = ColumnsForm(upload, _as_typed(fields))
        form_bodies.check(form)
        try:
            spec = form.spec(source.reading)
            given = {key: mapping[key] for key in CARD_KEYS if key in mapping}
            spec = dataclasses.replace(spec, card_keys={**spec.card_keys, **given})
            teams.check(spec.name, request.user)
            dataset_uploads.make(upload, spec, request.user)
        except teams.NotInTeam as error:
            raise PermissionDenied(str(error)) from None
        except (uploads.UploadError, FormatError) as error:
            raise Unprocessable({"mapping": [str(error)]}) from None
        if faults := upload_jobs.problems(upload):
            raise Unprocessable({"mapping": faults})
        origin = dataset_uploads.origin(upload)
        upload_jobs.confirm(upload, request.user, False, origin.get("made_from"))
        return imported(upload)


def _as_typed(fields: dict[str, Any]) -> Any:
    """Convert JSON to form input: one label per line, sizes separated by spaces."""
    typed = dict(fields)
    if isinstance(typed.get("shots"), list):
        typed["shots"] = " ".join(map(str, typed["shots"]))
    if isinstance(typed.get("text"), str):
        typed["text"] = [typed["text"]]
    match typed.get("gold"):  # make_task accepts several columns, but the form only accepts one
        case [gold]:
            typed["gold"] = gold
    labels = typed.get("labels")
    if isinstance(labels, list):
        typed["labels"] = "\n".join(map(_label, labels))
    return form_bodies.as_form_data(typed)


def _label(label: Any) -> str:
    """Convert a label (a value, or {value, name, definition}) to a line of the form."""
    if isinstance(label, dict):
        check_known(label, {"value", "name", "definition"})
        return " | ".join(str(label.get(k, "")) for k in ("value", "name", "definition"))
    return str(label)
