"""The same tables and figures as JSON, documented by OpenAPI at /api/v1/docs/.

Requests use a token or the session of the browser; studies of other users are not found. Every
view calls the functions that the pages call, and returns the rows of their CSVs with
the same digits. Views do not resample: results that wait for the job of the analysis page are null,
and `pending` shows the progress of the job; POST analysis/ starts it.
"""

from collections.abc import Sequence
from typing import Any, ClassVar

from csp.decorators import csp_update
from django.http import Http404
from django.urls import reverse
from django.utils.decorators import method_decorator
from drf_spectacular.utils import OpenApiParameter, extend_schema, inline_serializer
from drf_spectacular.views import SpectacularSwaggerSplitView
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from analysis.export.columns import type_of
from analysis.figures import data as figure_data
from analysis.models import differences, leaderboard, model_runs, models_columns
from analysis.models import models as model_tables
from analysis.models.api import UploadModels
from analysis.scores import (
    findings,
    findings_columns,
    marks,
    metrics,
    performance,
    rendering,
    training,
)
from analysis.scores.attrition import ADMISSION, ATTRITION
from analysis.scores.columns import as_records, plain
from annotation.models import Kind
from annotation.web.access import scores_of, study_of
from annotation.web.form_bodies import as_object, check_known
from annotation.web.jobs import JobShape, as_record
from annotation.web.problems import Conflict, Unprocessable
from annotation.web.rights import right_to
from annotation.web.views import ApiView
from tasks.columns import Column, in_files
from tasks.models import Job, PredictionFile


def shape(name: str, columns: Sequence[Column]) -> serializers.Serializer:
    """The schema of a list of rows, from their columns."""
    return inline_serializer(name, {c.name: field_of(c) for c in in_files(columns)}, many=True)


def field_of(column: Column) -> serializers.Field:
    """The schema of one column; measured values can be null."""
    words = column.stored_meaning
    if column.unit:
        return serializers.FloatField(allow_null=True, help_text=words)
    kind = serializers.IntegerField if type_of(column.name) == "integer" else serializers.CharField
    return kind(help_text=words)


class Rows(serializers.ListField):
    """The rows of a table, with the names of its columns."""

    child = serializers.DictField()


class Index(ApiView):
    """The starting points of the API."""

    # Name -> its URL; the OpenAPI document lists what is below each.
    addresses: ClassVar = {
        "studies": "api_studies",
        "tasks": "api_tasks",
        "models": "api_models",
        "compare": "api_compare",
        "planner": "api_planner",
        "document": "schema",
        "explorer": "api_docs",
    }

    @extend_schema(
        responses=inline_serializer("Index", {name: serializers.CharField() for name in addresses}),
        summary="The top addresses",
    )
    def get(self, request: Request) -> Response:
        return Response({name: reverse(address) for name, address in self.addresses.items()})


class HumanPerformance(ApiView):
    @extend_schema(
        responses=shape("HumanPerformance", rendering.PERFORMANCE_FILE),
        summary="The human-performance table, all kinds",
    )
    def get(self, request: Request, name: str) -> Response:
        study = scores_of(request, name)
        return Response(as_records(rendering.PERFORMANCE_FILE, performance.all_rows(study)))


class Findings(ApiView):
    class Tables(serializers.Serializer):
        """Rows as in the CSV of the same table; the page explains the columns.

        Scores and differences on the scale from 0 to 1: means, intervals and contrasts under the
        metric of the task's card, all others S1; alphas from -1 to 1, p from 0 to 1.
        """

        class Pending(serializers.Serializer):
            state = serializers.ChoiceField(["not begun", *Job.State.values])
            done = serializers.IntegerField(help_text="chunks of the job")
            total = serializers.IntegerField(help_text="chunks of the job")
            what_to_do = serializers.CharField()

        kind = serializers.ChoiceField(Kind.choices)
        marks = serializers.ListField(
            child=serializers.CharField(), help_text="what every table of the study says of itself"
        )
        pending = Pending(allow_null=True, help_text="null when nothing is waited for")
        intervals = Rows(allow_null=True)
        agreement = Rows()
        aggregates = Rows()
        ceiling = Rows()
        contrasts = Rows(allow_null=True)
        attrition = Rows()
        admission = Rows(help_text="how many each arm judged and admitted")

    @extend_schema(
        responses=Tables(many=True),
        summary="Intervals, agreement, aggregates, ceilings and contrasts, all kinds",
        description="Intervals and contrasts are null until the job of the analysis page is done.",
    )
    def get(self, request: Request, name: str) -> Response:
        study = scores_of(request, name)
        replies, told = [], marks.sentences(study)
        for kind in performance.kinds(study):
            found, job = findings.at_hand(study, kind)
            missing: list[Any] | None = [] if job is None else None
            rows = {
                name: as_records(columns, found[name]) if name in found else missing
                for name, columns in findings_columns.COLUMNS.items()
            }
            for table in (ATTRITION, ADMISSION):
                rows[table.name] = as_records(table.columns, table.rows(study, kind))
            replies.append({"kind": kind, "marks": told, "pending": job and _pending(job), **rows})
        return Response(replies)

    class AnalysisBody(serializers.Serializer):
        kind = serializers.ChoiceField(Kind.choices, default=Kind.PERSON.value, required=False)

    @extend_schema(
        request=AnalysisBody,
        responses={202: JobShape, 200: JobShape},
        summary="Begin the job of the intervals and contrasts",
    )
    def post(self, request: Request, name: str) -> Response:
        study = scores_of(request, name, right_to("analysis_run"))
        sent = as_object(request.data)
        check_known(sent, {"kind"})
        kind = sent.get("kind", Kind.PERSON.value)
        if kind not in performance.kinds(study):
            raise Unprocessable({"kind": [f"Write one of {', '.join(performance.kinds(study))}."]})
        job = findings.job_of(study, kind, owner=request.user)
        if job is None:
            raise Conflict("Nobody has completed the study: there is nothing to analyse.")
        return Response(as_record(job), status=200 if job.is_done else 202)


def _pending(job: Job) -> dict[str, Any]:
    """The progress of a job, and how to continue it."""
    return {
        "state": job.state if job.pk else "not begun",
        "done": job.done,
        "total": job.total,
        "what_to_do": "manage.py run_jobs or the open analysis page continues it; the page starts"
        " it",
    }


class TrainingTable(ApiView):
    @extend_schema(
        responses=shape("TrainingTable", training.BLOCK_SCORES),
        summary="The training table, all kinds",
    )
    def get(self, request: Request, name: str) -> Response:
        study = study_of(request, name, "read")
        return Response(as_records(training.BLOCK_SCORES, training.block_scores(study)))


class FigureData(ApiView):
    class DataOfFigure(serializers.Serializer):
        """`data` are the rows behind the figure, `numbers` those of its table.

        S1 and slopes on the scale from 0 to 1; names of columns give the unit of times.
        """

        kind = serializers.ChoiceField(Kind.choices)
        why_not = serializers.CharField(help_text="why there is no such figure; empty if there is")
        numbers = Rows()
        data = Rows()

    @extend_schema(
        responses=DataOfFigure(many=True),
        parameters=[OpenApiParameter("figure", str, "path", enum=figure_data.NAMES)],
        summary="The data of a figure, all kinds",
        description="shots: the shot curve; models: humans and models; learning: over the training"
        " step; drift: over the annotation step.",
    )
    def get(self, request: Request, name: str, figure: str) -> Response:
        study = scores_of(request, name)
        if figure not in figure_data.NAMES:
            raise Http404
        replies = []
        for kind in performance.kinds(study):
            shown = figure_data.figure(study, kind, figure)
            data = [] if shown.why_not else figure_data.in_file(shown.frame).to_dict("records")
            replies.append(
                {
                    "kind": kind,
                    "why_not": shown.why_not,
                    "numbers": as_records(shown.all_columns, shown.numbers),
                    "data": [{key: plain(cell) for key, cell in row.items()} for row in data],
                }
            )
        return Response(replies)


class ModelScores(UploadModels):
    @extend_schema(
        responses=shape("ModelScore", models_columns.MODEL),
        summary="Scores of every uploaded model",
    )
    def get(self, request: Request) -> Response:
        rows = model_tables.model_rows(PredictionFile.objects.all())
        return Response(as_records(models_columns.MODEL, rows))


class HumansAndModels(ApiView):
    class Comparison(serializers.Serializer):
        """Rows as in the CSVs of the page; scores under the card's metric, scale 0 to 1."""

        kind = serializers.ChoiceField(Kind.choices)
        scores = Rows(help_text="by task; sd_over says what the SD is over, n and of count these")
        aggregates = Rows(help_text="means over the study's tasks")
        differences = Rows(help_text="humans minus model on the same examples")
        metrics = Rows(
            help_text="annotators of that kind and models under every metric of the design"
        )
        effort = Rows(
            help_text="minutes and cost per answer, of people and of models in their seat"
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
            replies.append(
                {
                    "kind": kind,
                    "scores": as_records(models_columns.SCORES, model_tables.score_rows(tables)),
                    "aggregates": as_records(
                        models_columns.AGGREGATES, model_tables.aggregate_rows(tables)
                    ),
                    "differences": [{"kind": kind} | pairing for pairing in pairings],
                    "effort": as_records(model_runs.EFFORT, model_runs.efforts(study)),
                    "metrics": as_records(
                        metrics.COLUMNS,
                        [row for row in metrics.rows(study) if row.who in (kind, metrics.MODEL)],
                    ),
                }
            )
        return Response(replies)


class Leaderboard(ApiView):
    class BoardsOfKind(serializers.Serializer):
        """Rows as in the CSV; means and SDs under the card's metric, scale 0 to 1."""

        kind = serializers.ChoiceField(Kind.choices)
        entries = Rows()
        left_out = serializers.ListField(
            child=serializers.CharField(), help_text="models that lack splits, and which"
        )

    @extend_schema(responses=BoardsOfKind(many=True), summary="The leaderboard, all kinds")
    def get(self, request: Request, name: str) -> Response:
        study = scores_of(request, name)
        replies = []
        for kind in performance.kinds(study):
            boards = leaderboard.boards(study, kind)
            rows = as_records(leaderboard.COLUMNS, leaderboard.cells(boards))
            left_out = [f"{b.heading}: {words}" for b in boards for words in b.left_out]
            replies.append({"kind": kind, "entries": rows, "left_out": left_out})
        return Response(replies)


@method_decorator(csp_update({"style-src": ["'unsafe-inline'"]}), name="dispatch")
class Docs(SpectacularSwaggerSplitView):
    """The only page with inline styles, which Swagger writes; its scripts are files."""

    http_method_names = ("get", "head")  # the view has no template for OPTIONS
