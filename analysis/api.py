"""The same figures for programs: read-only JSON, documented by OpenAPI at /api/docs/.

Signed in as in the browser, or by HTTP Basic with a researcher's name and password; a study of
somebody else is not found. Every view calls the functions that the pages call.
"""

import math
from typing import Any

from csp.decorators import csp_update
from django.utils.decorators import method_decorator
from drf_spectacular.utils import extend_schema
from drf_spectacular.views import SpectacularSwaggerSplitView
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from analysis import resampling, scores, tables
from annotation.access import study_of
from annotation.models import Kind, Study


class StudyShape(serializers.ModelSerializer):
    tasks = serializers.SlugRelatedField("name", many=True, read_only=True)

    class Meta:
        model = Study
        fields = ["name", "title", "status", "tasks", "shots", "annotators", "manifest_hash"]


class Studies(APIView):
    @extend_schema(responses=StudyShape(many=True), summary="The researcher's studies")
    def get(self, request: Request) -> Response:
        mine = Study.objects.of(request.user).prefetch_related("tasks")
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
        sd_ddof1 = serializers.FloatField(allow_null=True)
        sd_ddof0 = serializers.FloatField(allow_null=True)
        n = serializers.IntegerField(help_text="annotators completed and in the analysis")
        baseline = serializers.FloatField()
        ceiling = serializers.FloatField()

    @extend_schema(responses=Cell(many=True), summary="The human-performance table, all kinds")
    def get(self, request: Request, name: str) -> Response:
        study = study_of(request, name, "read")
        frame = scores.annotators(study)
        rows = []
        for kind in tables.kinds_of(frame):
            table = tables.performance(study, kind, frame)
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
                        }
                    )
        return Response(self.Cell(rows, many=True).data)


class Findings(APIView):
    class Tables(serializers.Serializer):
        """Rows as in the CSV of the same table; the columns are explained on the page."""

        kind = serializers.ChoiceField(Kind.choices)
        intervals = serializers.ListField(child=serializers.DictField())
        agreement = serializers.ListField(child=serializers.DictField())
        aggregates = serializers.ListField(child=serializers.DictField())
        contrasts = serializers.ListField(child=serializers.DictField())

    @extend_schema(responses=Tables(many=True), summary="Intervals, agreement, contrasts")
    def get(self, request: Request, name: str) -> Response:
        study = study_of(request, name, "read")
        made = []
        for kind in tables.kinds(study):
            found = resampling.tables(study, kind)
            rows = {
                table: [{key: _number(value) for key, value in row.items()} for row in all_of]
                for table, all_of in found.items()
            }
            made.append({"kind": kind, **rows})
        return Response(made)


@method_decorator(csp_update({"style-src": ["'unsafe-inline'"]}), name="dispatch")
class Docs(SpectacularSwaggerSplitView):
    """The one page with styles inside: Swagger writes them; its scripts are files as elsewhere."""


def _number(value: Any) -> Any:
    """JSON knows no NaN."""
    if isinstance(value, float):
        return None if math.isnan(value) else float(value)
    return value
