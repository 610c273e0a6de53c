"""The results of a cross-task study: gains of its arms, and how its upstream training went."""

from collections.abc import Callable, Sequence
from typing import Any

from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_GET

from analysis.pages.common import chosen_kind, results_of
from analysis.tables import columns, cross_task, performance, upstream
from annotation.access import scores_of
from annotation.models import Study
from tasks.columns import Column, cells, on_page
from tasks.downloads import download

# Name of a table -> its columns, and its rows of one kind.
TABLES: dict[str, tuple[Sequence[Column], Callable[[Study, str], Sequence[Any]]]] = {
    "gains": (cross_task.GAINS, cross_task.joint),
    "manipulation": (upstream.MANIPULATION, upstream.manipulation),
    "curve": (upstream.CURVE, upstream.curve),
    "plan": (cross_task.PLAN, cross_task.plan),
}


@login_required
@require_GET
def cross_task_page(request: HttpRequest, name: str) -> HttpResponse:
    """Gains with their intervals, the models of the paper, and the manipulation check."""
    study = scores_of(request, name)
    kinds = performance.kinds(study)
    kind = chosen_kind(request, kinds)
    tables: dict[str, Any] = {
        table: {"columns": on_page(shown), "cells": cells(shown, rows(study, kind))}
        for table, (shown, rows) in TABLES.items()
    }
    published = cross_task.published()
    context = results_of(study) | {
        "kind": kind,
        "kinds": kinds,
        "tables": tables,
        "sentences": list(cross_task.sentences(cross_task.gains(study, kind))),
        "question": cross_task.QUESTION,
        "published": {
            "columns": on_page(cross_task.PUBLISHED),
            "cells": cells(cross_task.PUBLISHED, published),
        },
    }
    return render(request, "researcher/cross_task.html", context)


@login_required
@require_GET
def cross_task_file(request: HttpRequest, name: str, table: str) -> HttpResponse:
    """One of these tables as CSV, of every kind, with all digits."""
    study = scores_of(request, name)
    if table not in TABLES:
        raise Http404
    shown, rows = TABLES[table]
    every = [row for kind in performance.kinds(study) for row in rows(study, kind)]
    every = list(dict.fromkeys(every))  # what is published stands once
    return download(columns.as_csv(shown, every), f"{study.name}-{table}.csv")
