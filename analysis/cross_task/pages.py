"""The results page of a cross-task study and its downloads."""

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from analysis.cross_task import cross_task, learners, upstream
from analysis.cross_task.upstream import ARM_TABLES
from analysis.scores import performance
from analysis.scores.api import KIND, OBJECT, KindOfTable
from analysis.scores.pages import csv_file, study_and_kind
from annotation.protocol.blinding import scores_of
from annotation.web.access import signed_in
from annotation.web.views import tagged
from tasks.columns import cells, on_page


@signed_in("GET")
def cross_task_page(request: HttpRequest, name: str) -> HttpResponse:
    study, kind, context = study_and_kind(request, name)
    if not study.is_cross_task:
        raise Http404
    tables = {name: table.page(study, kind) for name, table in upstream.ARM_TABLES.items()}
    context |= {
        "tables": tables,
        "of_learners": [tables[table.name] for table in learners.TABLES],
        "of_arms": [tables[table.name] for table in upstream.SEVERAL_ARMS],
        "sentences": list(cross_task.sentences(study, kind)),
        "question": cross_task.QUESTION,
        "published": {
            "columns": on_page(cross_task.PUBLISHED),
            "cells": cells(cross_task.PUBLISHED, cross_task.published()),
        },
    }
    return render(request, "cross_task/cross_task.html", context)


@signed_in("GET")
def cross_task_file(request: HttpRequest, name: str, table: str) -> HttpResponse:
    study = scores_of(request, name)
    if table not in upstream.ARM_TABLES:
        raise Http404
    source = upstream.ARM_TABLES[table]
    all_rows = [row for kind in performance.kinds(study) for row in source.rows(study, kind)]
    # Rows of models and published rows are repeated for each kind. NaN never compares equal.
    all_rows = list({repr(row): row for row in all_rows}.values())
    return csv_file(f"{study.name}-{table}", source.columns, all_rows)


class CrossTask(KindOfTable):
    @extend_schema(
        parameters=[KIND, OpenApiParameter("table", str, "path", enum=list(ARM_TABLES))],
        responses=OBJECT,
        summary="A table of a cross-task study",
    )
    def get(self, request: Request, name: str, table: str) -> Response:
        study = scores_of(request, name)
        if table not in ARM_TABLES:
            raise Http404
        source = ARM_TABLES[table]
        rows = self.rows(request, study, source.columns, source.rows)
        return tagged(request, {"table": table, "rows": rows})
