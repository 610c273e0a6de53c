"""Figure data as JSON."""

from typing import Any

from django.http import Http404
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.exceptions import ValidationError
from rest_framework.request import Request
from rest_framework.response import Response

from analysis.figures import data as figure_data
from analysis.figures import pages as figures
from analysis.figures.several_studies import Comparison
from analysis.scores import performance
from analysis.scores.api import KIND, OBJECT, Rows
from analysis.scores.columns import as_records, plain
from annotation.models import Kind
from annotation.protocol.blinding import scores_of
from annotation.web.views import ApiView, tagged


class FigureData(ApiView):
    class DataOfFigure(serializers.Serializer):
        """`data` are the rows behind the figure, `numbers` those of its table.

        S1 and slopes on the scale from 0 to 1; column names give the unit of times.
        """

        kind = serializers.ChoiceField(Kind.choices)
        why_not = serializers.CharField(help_text="reason for a missing figure, or empty")
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


class SeveralStudies(ApiView):
    """Several studies whose results the user may read, compared as on the page."""

    parameters = frozenset({"study", "kind"})

    @extend_schema(
        parameters=[
            KIND,
            OpenApiParameter("study", str, many=True, required=True, description="repeat it"),
        ],
        responses=OBJECT,
        summary="Scores of several studies, and the differences between their designs",
    )
    def get(self, request: Request) -> Response:
        comparison = figures.asked_for(request)
        if comparison is None:
            raise ValidationError({"study": ["Name the studies: ?study=one&study=other"]})
        told = {
            "rows": self._rows(comparison),
            "differing": [{"what": d.what, "values": dict(d.values)} for d in comparison.differing],
            "without": comparison.without,
        }
        return tagged(request, told)

    @staticmethod
    def _rows(comparison: Comparison) -> list[dict[str, Any]]:
        figure = comparison.figure
        rows = as_records(figure.all_columns, figure.numbers)
        return [{"kind": comparison.kind} | row for row in rows]
