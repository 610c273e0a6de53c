"""API views that import tasks from a dataset or the Few-shot Gym, using the pages' forms."""

import dataclasses
import json
from typing import Any, ClassVar

from django import forms
from django.core.exceptions import PermissionDenied
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.parsers import MultiPartParser
from rest_framework.request import Request
from rest_framework.response import Response

from annotation.library.dataset_import import ColumnsForm, ReadingForm
from annotation.library.gym_import import GymTasksForm, PartitionForm
from annotation.library.task_import import MAX_NAMES
from annotation.library.tasks_api import ImportedShape, JobBegun, files_in, imported
from annotation.web import form_bodies, jobs
from annotation.web.access import may_run
from annotation.web.form_bodies import check_known
from annotation.web.problems import Unprocessable
from annotation.web.views import ApiView
from tasks import dataset_uploads, gym_uploads, teams, upload_jobs, uploads
from tasks import jobs as all_jobs
from tasks.cards import FAMILIES
from tasks.datasets.making import TaskSpec
from tasks.formats import FormatError
from tasks.metrics import GOLD_RULES, METRICS
from tasks.models import TaskUpload
from tasks.tokens import GRANULARITIES

# Keys of the card that have no form field, with their types and choices.
CARD_KEYS: dict[str, tuple[type, Any]] = {
    "segments": (list, None),
    "family": (str, FAMILIES),
    "gold_rule": (str, GOLD_RULES),
    "granularity": (str, GRANULARITIES),
    "max_spans": (int, None),
    "longest": (int, None),
    "metric": (str, tuple(METRICS)),
}


def mapping_of(request: Request, name: str) -> dict[str, Any]:
    """Parse the JSON object in a field of a multipart body. Raises Unprocessable."""
    text = request.data.get(name, "{}")
    try:
        data = json.loads(text if isinstance(text, str) else text.read())
        json.dumps(data, ensure_ascii=False, allow_nan=False).encode()
    except (ValueError, RecursionError, UnicodeError):
        raise Unprocessable({name: ["Expected the options as a JSON object."]}) from None
    if not isinstance(data, dict) or "\\u0000" in json.dumps(data):
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
        source = DatasetForm(
            form_bodies.as_form_data(
                {k: v for k, v in mapping.items() if k in ReadingForm.base_fields}
            ),
            request.FILES,
        )
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
            spec = _with_card(form.spec(source.reading), mapping)
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


def _with_card(spec: TaskSpec, mapping: dict[str, Any]) -> TaskSpec:
    """Add keys of the card that have no form field to the specification. Raises Unprocessable."""
    card_values = {}
    for key, (kind, choices) in CARD_KEYS.items():
        if key not in mapping:
            continue
        value = mapping[key]
        is_valid = isinstance(value, kind) and not isinstance(value, bool)
        if not is_valid or (choices is not None and value not in choices):
            expected = f"one of {', '.join(choices)}" if choices else f"a {kind.__name__}"
            raise Unprocessable({key: [f"Expected {expected}."]})
        card_values[key] = [str(item) for item in value] if kind is list else value
    return dataclasses.replace(spec, card_keys={**spec.card_keys, **card_values})


class GymBody(serializers.Serializer):
    """Files of the Few-shot Gym, or a ZIP archive of its folders, with options."""

    archive = serializers.FileField(required=False)
    files = serializers.ListField(child=serializers.FileField(), required=False)
    options = serializers.CharField(
        required=False,
        help_text='JSON: {"partition": ..., "tasks": {"glue-sst2": "label"}, "test": 50,'
        ' "seed": 7}; if tasks is omitted, all importable tasks, with the inferred answer types',
    )


class Gym(ApiView):
    """Start a job that imports tasks from the Few-shot Gym, without showing them first."""

    parser_classes: ClassVar = [MultiPartParser]

    @extend_schema(
        summary="Import tasks from the Few-shot Gym",
        request={"multipart/form-data": GymBody},
        responses={202: JobBegun},
    )
    def post(self, request: Request) -> Response:
        may_run(request)
        check_known(dict.fromkeys([*request.data, *request.FILES]), GymBody().fields)
        options = mapping_of(request, "options")
        check_known(options, {"partition", "tasks", "test", "seed"})
        form_bodies.check(
            PartitionForm(form_bodies.as_form_data({"partition": options.get("partition")}))
        )
        files = files_in(request, "archive", "files")
        if not files:
            raise Unprocessable({"archive": ["Send a ZIP archive or files."]})
        uploads.drop_old()
        try:
            upload = gym_uploads.begin(files, request.user, options.get("partition") or "")
        except uploads.UploadError as error:
            raise Unprocessable({"files": error.problems}) from None
        with uploads.dropped_on_error(upload):
            return self._start(request, upload, options)

    def _start(self, request: Request, upload: TaskUpload, options: dict[str, Any]) -> Response:
        tasks = gym_uploads.inspection(upload)["tasks"]
        inferred = {t["name"]: t["kind"] for t in tasks if t["kind"] in t["possible"]}
        kind_of = options.get("tasks", inferred)
        if not isinstance(kind_of, dict):
            raise Unprocessable({"tasks": ["Expected an object that maps tasks to answer types."]})
        check_known(kind_of, {task["name"] for task in tasks})
        fields: dict[str, Any] = {f"take-{name}": True for name in kind_of}
        fields |= {f"kind-{name}": kind or inferred.get(name) for name, kind in kind_of.items()}
        fields |= {"test": options.get("test"), "seed": options.get("seed", 0)}
        form = GymTasksForm(tasks, form_bodies.as_form_data(fields))
        form_bodies.check(form)
        try:
            kinds = form.cleaned_data["kinds"]
            gym_uploads.confirm(upload, kinds, form.sample, request.user)
        except uploads.UploadError as error:
            raise Unprocessable({"tasks": error.problems}) from None
        job = upload.job
        assert job is not None  # set by confirm
        all_jobs.advance(job)
        return Response({"job": jobs.as_record(job)}, status=202)
