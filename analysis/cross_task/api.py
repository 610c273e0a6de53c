"""The tables of a cross-task study as JSON."""

from django.http import Http404
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from analysis.cross_task.upstream import OF_ARMS
from analysis.scores.api import KIND, OBJECT, KindOfTable
from annotation.protocol.blinding import scores_of
from annotation.web.views import tagged


class CrossTask(KindOfTable):
    @extend_schema(
        parameters=[KIND, OpenApiParameter("table", str, "path", enum=list(OF_ARMS))],
        responses=OBJECT,
        summary="A table of a cross-task study: gains, manipulation, curve or plan",
    )
    def get(self, request: Request, name: str, table: str) -> Response:
        study = scores_of(request, name)
        if table not in OF_ARMS:
            raise Http404
        shown = OF_ARMS[table]
        rows = self.rows(request, study, shown.columns, shown.rows)
        return tagged(request, {"table": table, "rows": rows})
