"""The same figures for programs: read-only JSON, documented by OpenAPI at /api/docs/.

Signed in as in the browser, or by HTTP Basic with a researcher's name and password; a study of
somebody else is not found. Every view calls the functions that the pages call, and gives the rows
of their CSVs with the same digits. Nothing is resampled here: what waits for the job of the
analysis page is null, and `pending` says how far the job is.
"""

import math
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from csp.decorators import csp_update
from django.http import Http404
from django.utils.decorators import method_decorator
from drf_spectacular.utils import OpenApiParameter, extend_schema
from drf_spectacular.views import SpectacularSwaggerSplitView
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from analysis.figures import data as figure_data
from analysis.tables import (
    differences,
    findings_columns,
    frames,
    performance,
    rendering,
    resampling,
)
from analysis.tables import models as model_tables
from analysis.tables.columns import as_records, plain
from annotation.access import study_of
from annotation.models import Kind, Study
from tasks.models import Job, PredictionFile

OVER_ANNOTATORS = "annotators who completed and are in the analysis"
# Columns of the CSVs that hold a number which may be missing.
MEASURED = {
    "mean", "mean_s1_x100", "sd_ddof1", "sd_ddof0", "sd_printed", "sd_of_sum", "sd_of_average",
    "human_mean", "model_mean", "difference", "se_clustered", "p_sign_flip", "p_holm",
}  # fmt: skip


class StudyShape(serializers.ModelSerializer):
    tasks = serializers.SlugRelatedField("name", many=True, read_only=True)

    class Meta:
        model = Study
        fields = ["name", "title", "status", "tasks", "shots", "annotators", "manifest_hash"]


class Studies(APIView):
    @extend_schema(responses=StudyShape(many=True), summary="The researcher's studies")
    def get(self, request: Request) -> Response:
        mine = Study.objects.visible_to(request.user).prefetch_related("tasks")
        return Response(StudyShape(mine, many=True).data)


class OneStudy(APIView):
    @extend_schema(responses=StudyShape, summary="One study")
    def get(self, request: Request, name: str) -> Response:
        return Response(StudyShape(study_of(request, name, "see")).data)


class HumanPerformance(APIView):
    class Cell(serializers.Serializer):
        kind = serializers.ChoiceField(Kind.choices)
        task = serializers.CharField()
        shots = serializers.IntegerField()
        mean = serializers.FloatField(allow_null=True, help_text="S1 x 100 over annotators")
        sd_ddof1 = serializers.FloatField(allow_null=True, help_text="over annotators, x 100")
        sd_ddof0 = serializers.FloatField(allow_null=True, help_text="over annotators, x 100")
        n = serializers.IntegerField(help_text=OVER_ANNOTATORS)
        baseline = serializers.FloatField(help_text="S1 x 100 of the trivial baseline")
        ceiling = serializers.FloatField(help_text="S1 x 100 that highlighting can reach")
        published_mean = serializers.FloatField(
            allow_null=True,
            help_text="Table 4 of the paper, x 100, where the test file is the published one",
        )
        published_spread = serializers.FloatField(
            allow_null=True, help_text="its ±, which the paper does not define"
        )

    @extend_schema(responses=Cell(many=True), summary="The human-performance table, all kinds")
    def get(self, request: Request, name: str) -> Response:
        study = study_of(request, name, "read")
        frame = frames.annotators(study)
        rows = []
        for kind in performance.kinds_of(frame):
            table = performance.performance(study, kind, frame)
            for _shots, cells in table.rows:
                for cell, limits in zip(cells, table.bounds, strict=True):
                    rows.append(
                        {
                            "kind": kind,
                            "task": cell.task,
                            "shots": cell.shots,
                            "mean": _number(cell.mean),
                            "sd_ddof1": _number(cell.sd_ddof1),
                            "sd_ddof0": _number(cell.sd_ddof0),
                            "n": cell.n,
                            "baseline": limits.baseline,
                            "ceiling": limits.ceiling,
                            "published_mean": cell.published and cell.published.mean,
                            "published_spread": cell.published and cell.published.spread,
                        }
                    )
        return Response(self.Cell(rows, many=True).data)


class Findings(APIView):
    class Tables(serializers.Serializer):
        """Rows as in the CSV of the same table; the columns are explained on the page.

        S1 x 100 and differences in its points; alphas from -1 to 1, p from 0 to 1.
        """

        class Pending(serializers.Serializer):
            state = serializers.ChoiceField(["not begun", *Job.State.values])
            done = serializers.IntegerField(help_text="chunks of the job")
            total = serializers.IntegerField(help_text="chunks of the job")
            what_to_do = serializers.CharField()

        kind = serializers.ChoiceField(Kind.choices)
        pending = Pending(allow_null=True, help_text="null when nothing is waited for")
        intervals = serializers.ListField(child=serializers.DictField(), allow_null=True)
        agreement = serializers.ListField(child=serializers.DictField())
        aggregates = serializers.ListField(child=serializers.DictField())
        contrasts = serializers.ListField(child=serializers.DictField(), allow_null=True)

    @extend_schema(
        responses=Tables(many=True),
        summary="Intervals, agreement, aggregates and contrasts, all kinds",
        description="Intervals and contrasts are null until the job of the analysis page is done.",
    )
    def get(self, request: Request, name: str) -> Response:
        study = study_of(request, name, "read")
        replies = []
        for kind in performance.kinds(study):
            job = resampling.job_of(study, kind)
            is_pending = job is not None and not job.is_done
            at_once = is_pending or job is None
            findings = resampling.at_once(study, kind) if at_once else resampling.stored(job)
            missing = None if is_pending else []
            rows = {
                table: as_records(columns, findings[table]) if table in findings else missing
                for table, columns in findings_columns.COLUMNS.items()
            }
            replies.append({"kind": kind, "pending": _pending(job) if is_pending else None, **rows})
        return Response(replies)


def _pending(job: Job) -> dict[str, Any]:
    """The progress of a job, and where it is continued."""
    return {
        "state": job.state if job.pk else "not begun",
        "done": job.done,
        "total": job.total,
        "what_to_do": "manage.py run_jobs or the open analysis page continues it; the page starts"
        " it",
    }


class TrainingTable(APIView):
    class TrainingRow(serializers.Serializer):
        kind = serializers.ChoiceField(Kind.choices)
        task = serializers.CharField()
        shots = serializers.IntegerField(help_text="of the group")
        examples = serializers.CharField(help_text="which block of the training examples")
        mean_s1_x100 = serializers.FloatField(
            allow_null=True, help_text="mean over annotators of their mean over the block, S1 x 100"
        )
        n = serializers.IntegerField(help_text=OVER_ANNOTATORS)
        nested = serializers.IntegerField(help_text="1 if the block compares between groups")

    @extend_schema(responses=TrainingRow(many=True), summary="The training table, all kinds")
    def get(self, request: Request, name: str) -> Response:
        study = study_of(request, name, "read")
        return Response(_records(rendering.TRAINING_COLUMNS, rendering.training_rows(study)))


class FigureData(APIView):
    class DataOfFigure(serializers.Serializer):
        """`data` are the rows behind the figure, `numbers` those of the table beside it.

        S1 x 100 and slopes in its points; times in the unit that the name of the column says.
        """

        kind = serializers.ChoiceField(Kind.choices)
        why_not = serializers.CharField(help_text="why there is no such figure; empty if there is")
        numbers = serializers.ListField(child=serializers.DictField())
        data = serializers.ListField(child=serializers.DictField())

    @extend_schema(
        responses=DataOfFigure(many=True),
        parameters=[OpenApiParameter("figure", str, "path", enum=figure_data.NAMES)],
        summary="The data of a figure, all kinds",
        description="shots: the shot curve; learning: learning curves over the training step;"
        " drift, speed: over the annotation step; time: of each annotator.",
    )
    def get(self, request: Request, name: str, figure: str) -> Response:
        study = study_of(request, name, "read")
        if figure not in figure_data.NAMES:
            raise Http404
        replies = []
        for kind in performance.kinds(study):
            shown = figure_data.figure(study, kind, figure)
            data = [] if shown.why_not else shown.frame.to_dict("records")
            replies.append(
                {
                    "kind": kind,
                    "why_not": shown.why_not,
                    "numbers": as_records(shown.all_columns, shown.numbers),
                    "data": [{key: plain(cell) for key, cell in row.items()} for row in data],
                }
            )
        return Response(replies)


class ModelScore(serializers.Serializer):
    model = serializers.CharField()
    task = serializers.CharField()
    task_version = serializers.IntegerField()
    shots = serializers.IntegerField()
    mean = serializers.FloatField(help_text="over training splits of the mean S1 x 100")
    sd_ddof1 = serializers.FloatField(allow_null=True, help_text="over splits, x 100")
    sd_ddof0 = serializers.FloatField(allow_null=True, help_text="over splits, x 100")
    n = serializers.IntegerField(help_text="splits with predictions")
    of = serializers.IntegerField(help_text="training splits of the task at that number of shots")
    recipe = serializers.CharField()


class ModelScores(APIView):
    @extend_schema(responses=ModelScore(many=True), summary="Scores of every uploaded model")
    def get(self, request: Request) -> Response:
        rows = model_tables.model_rows(PredictionFile.objects.all())
        records = (row.as_record() for row in rows)
        return Response(_records(model_tables.MODEL_COLUMNS, records))


class HumansAndModels(APIView):
    class Comparison(serializers.Serializer):
        """Rows as in the CSVs of the page; means, SDs and differences are S1 x 100."""

        kind = serializers.ChoiceField(Kind.choices)
        scores = serializers.ListField(
            child=serializers.DictField(),
            help_text="by task; sd_over says what the SD is over, n and of count these",
        )
        aggregates = serializers.ListField(
            child=serializers.DictField(), help_text="means over the study's tasks"
        )
        differences = serializers.ListField(
            child=serializers.DictField(), help_text="humans minus model on the same examples"
        )

    @extend_schema(
        responses=Comparison(many=True), summary="Humans, uploaded models and published figures"
    )
    def get(self, request: Request, name: str) -> Response:
        study = study_of(request, name, "read")
        made = []
        for kind in performance.kinds(study):
            found = model_tables.tables(study, kind)
            pairs = differences.differences(study, kind)
            made.append(
                {
                    "kind": kind,
                    "scores": _records(model_tables.SCORE_COLUMNS, model_tables.score_rows(found)),
                    "aggregates": _records(
                        model_tables.AGGREGATE_COLUMNS,
                        model_tables.aggregate_rows(found),
                    ),
                    "differences": _records(
                        differences.DIFFERENCE_COLUMNS, differences.difference_rows(kind, pairs)
                    ),
                }
            )
        return Response(made)


@method_decorator(csp_update({"style-src": ["'unsafe-inline'"]}), name="dispatch")
class Docs(SpectacularSwaggerSplitView):
    """The one page with styles inside: Swagger writes them; its scripts are files as elsewhere."""

    http_method_names = ("get", "head")  # what it says of OPTIONS has no template


def _records(columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> list[dict[str, Any]]:
    """Rows of a CSV under their columns; what is measured is a number again, or null."""
    return [
        {
            column: (float(value) if value else None) if column in MEASURED else value
            for column, value in zip(columns, row, strict=True)
        }
        for row in rows
    ]


def _number(value: Any) -> Any:
    """JSON knows no NaN and nothing of numpy."""
    if isinstance(value, float):
        return None if math.isnan(value) else float(value)
    return int(value) if isinstance(value, np.integer) else value
