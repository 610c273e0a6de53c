"""API views for models: their predictions, scores, and comparison with humans."""

from typing import Any, ClassVar

from django.db.models import QuerySet
from django.shortcuts import get_object_or_404
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.parsers import MultiPartParser
from rest_framework.request import Request
from rest_framework.response import Response

from analysis.models import differences, leaderboard, model_runs, models_columns, pages
from analysis.models import models as model_tables
from analysis.models.forms import UploadForm
from analysis.scores import metrics, performance
from analysis.scores.api import Rows, rows_schema
from analysis.scores.columns import as_records, table_columns
from annotation.library.api import JobBegun
from annotation.models import Kind
from annotation.protocol.blinding import scores_of
from annotation.study import design_file
from annotation.web import jobs
from annotation.web.access import may_run
from annotation.web.form_bodies import as_form_data, check, check_known, fields_of, shape
from annotation.web.paging import RowsView
from annotation.web.problems import Unprocessable
from annotation.web.views import ApiView, Twin, tagged
from tasks.models import Job, LanguageModel, Prediction, PredictionFile


class FileShape(serializers.Serializer):
    """One prediction file and its score."""

    id = serializers.IntegerField()
    task = serializers.CharField(source="task.name")
    task_version = serializers.IntegerField(source="task.version")
    shots = serializers.IntegerField(allow_null=True, help_text="null if fully supervised")
    split_number = serializers.IntegerField(allow_null=True)
    arm = serializers.CharField(allow_blank=True, help_text="arm, or empty")
    filename = serializers.CharField()
    examples = serializers.IntegerField()
    mean_s1 = serializers.FloatField(help_text="mean S1 over the examples, 0 to 1")
    remarks = serializers.ListField(child=serializers.CharField())


class ModelShape(serializers.Serializer):
    """A model with its files, its scores, and what its uploader stated about it."""

    name = serializers.CharField()
    title = serializers.CharField(allow_blank=True)
    link = serializers.CharField(allow_blank=True)
    parameters = serializers.IntegerField(allow_null=True)
    uploaded_by = serializers.CharField()
    files = FileShape(many=True)
    scores = serializers.ListField(child=serializers.DictField())


def as_record(model: LanguageModel) -> dict[str, Any]:
    files = model.files.with_scores().select_related("task")
    return {
        "name": model.name, "title": model.title, "link": model.link,
        "parameters": model.parameters, "uploaded_by": model.uploaded_by.get_username(),
        "files": FileShape(files, many=True).data,
        "scores": as_records(models_columns.MODEL, model_tables.model_rows(model.files.all())),
    }  # fmt: skip


class UploadModels(ApiView):
    """Upload prediction files. Task and split are read from file names or, for one file, fields."""

    parser_classes: ClassVar = [MultiPartParser]

    @extend_schema(
        summary="Upload predictions",
        description="`task` is NAME or NAME@VERSION. Returns the model (201) or a job (202).",
        request={
            "multipart/form-data": shape(
                "Predictions",
                fields_of(UploadForm)
                | {
                    "task": serializers.CharField(required=False),
                    "files": serializers.ListField(child=serializers.FileField()),
                },
            )
        },
        responses={201: ModelShape, 202: JobBegun},
    )
    def post(self, request: Request) -> Response:
        may_run(request)
        check_known(dict.fromkeys([*request.data, *request.FILES]), UploadForm.base_fields)
        fields = {k: request.data[k] for k in request.data if k not in request.FILES}
        if fields.get("task"):
            try:
                fields["task"] = design_file.task_named(fields["task"]).pk
            except design_file.DesignFileError as error:
                raise Unprocessable({"task": [str(error)]}) from None
        form = UploadForm(as_form_data(fields), request.FILES)
        check(form)
        stored = form.store(request.user)
        check(form)  # for errors found while storing
        if isinstance(stored, Job):
            return Response({"job": jobs.as_record(stored)}, status=202)
        assert stored is not None  # otherwise, there are errors
        return Response(as_record(stored), status=201)


class ModelDetail(Twin):
    step = pages.DeleteModel
    method = "delete"

    @extend_schema(responses=ModelShape, summary="One model, its files and scores")
    def get(self, request: Request, name: str) -> Response:
        model = get_object_or_404(LanguageModel.objects.select_related("uploaded_by"), name=name)
        return tagged(request, as_record(model))


class PredictionFileDetail(Twin):
    step = pages.DeleteFile
    method = "delete"


def _tasks_of(name: str) -> list[str]:
    names = PredictionFile.objects.filter(model__name=name).values_list("task__name", flat=True)
    return sorted(set(names))


class Predictions(RowsView):
    columns = table_columns("predictions")
    summary = "A model's predictions"
    filters: ClassVar = {"task": ("file__task__name", _tasks_of)}

    def rows(self, request: Request, **names: Any) -> QuerySet[Prediction]:
        model = get_object_or_404(LanguageModel, name=names["name"])
        rows = Prediction.objects.filter(file__in=PredictionFile.objects.filter(model=model))
        return rows.select_related("file__model", "file__task", "example")


class ModelScores(UploadModels):
    @extend_schema(
        responses=rows_schema("ModelScore", models_columns.MODEL),
        summary="Scores of all uploaded models",
    )
    def get(self, request: Request) -> Response:
        rows = model_tables.model_rows(PredictionFile.objects.all())
        return Response(as_records(models_columns.MODEL, rows))


class HumansAndModels(ApiView):
    class Comparison(serializers.Serializer):
        """Rows as in the page's CSV files. Scores use each card's metric, on a scale of 0 to 1."""

        kind = serializers.ChoiceField(Kind.choices)
        scores = Rows(help_text="scores by task; `n` and `of` count the units named in `sd_over`")
        aggregates = Rows(help_text="means over the study's tasks")
        differences = Rows(help_text="humans minus models on the same examples")
        metrics = Rows(
            help_text="annotators of this kind, and models, under each metric of the design"
        )
        effort = Rows(
            help_text="minutes and cost per answer, for humans and for models that took a seat"
        )

    @extend_schema(
        responses=Comparison(many=True), summary="Humans, uploaded models and published figures"
    )
    def get(self, request: Request, name: str) -> Response:
        study = scores_of(request, name)
        replies = []
        for kind in performance.kinds(study):
            tables = model_tables.tables(study, kind)
            pairings = as_records(models_columns.DIFFERENCES, differences.differences(study, kind))
            means = model_tables.aggregate_rows(tables)
            replies.append({
                "kind": kind,
                "scores": as_records(models_columns.SCORES, model_tables.score_rows(tables)),
                "aggregates": as_records(models_columns.AGGREGATES, means),
                "differences": [{"kind": kind} | pairing for pairing in pairings],
                "effort": as_records(model_runs.EFFORT, model_runs.efforts(study)),
                "metrics": as_records(metrics.COLUMNS, differences.metric_rows(study, kind)),
            })  # fmt: skip
        return Response(replies)


class Leaderboard(ApiView):
    class BoardsOfKind(serializers.Serializer):
        """Rows as in the CSV file. Scores use each card's metric, on a scale of 0 to 1."""

        kind = serializers.ChoiceField(Kind.choices)
        entries = Rows()
        left_out = serializers.ListField(
            child=serializers.CharField(), help_text="models with missing splits, and their number"
        )

    @extend_schema(responses=BoardsOfKind(many=True), summary="The leaderboard of a study")
    def get(self, request: Request, name: str) -> Response:
        study = scores_of(request, name)
        replies = []
        for kind in performance.kinds(study):
            boards = leaderboard.boards(study, kind)
            rows = as_records(leaderboard.COLUMNS, leaderboard.cells(boards))
            left_out = [f"{b.heading}: {reason}" for b in boards for reason in b.left_out]
            replies.append({"kind": kind, "entries": rows, "left_out": left_out})
        return Response(replies)
