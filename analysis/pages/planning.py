"""The planner, and how the results depend on who is counted."""

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_GET

from analysis.pages import forms
from analysis.pages.common import chosen_kind, results_of
from analysis.stats import two_way
from analysis.tables import arg_plan, columns, performance, planner
from analysis.tables import sensitivity as rules
from annotation.access import scores_of
from tasks import columns as table_columns
from tasks.downloads import download


@login_required
@require_GET
def plan(request: HttpRequest) -> HttpResponse:
    """How many annotators and examples a wanted interval needs. Nothing is stored."""
    sources = planner.sources(request.user)
    form = forms.PlannerForm(request.GET, sources=sources)
    stated = forms.StatedGainForm(request.GET)
    context = {"form": form, "stated": stated, "has_studies": len(sources) > 1}
    if form.is_valid():
        wanted = form.cleaned_data
        cells = planner.known(request.user, wanted["source"])
        shown = planner.columns(wanted)
        context |= {
            "source": dict(sources)[wanted["source"]],
            "sentences": planner.sentences(wanted),
            "columns": shown,
            "cells": table_columns.cells(shown, [planner.plan(cell, wanted) for cell in cells]),
        }
    if stated.is_valid():
        gain = stated.cleaned_data
        shown = arg_plan.columns(gain)
        context |= {
            "formula": arg_plan.FORMULA,
            "gain_columns": shown,
            "gain_cells": table_columns.cells(shown, arg_plan.plan(gain)),
        }
    return render(request, "researcher/planner.html", context)


@login_required
@require_GET
def sensitivity(request: HttpRequest, name: str) -> HttpResponse:
    """The human-performance cells under other inclusion criteria; of one kind."""
    study = scores_of(request, name)
    kinds = performance.kinds(study)
    kind = chosen_kind(request, kinds)
    tables = rules.task_tables(rules.table(study, kind))
    context = results_of(study) | {"kind": kind, "kinds": kinds, "tables": tables}
    context["question"] = f"{two_way.BOTH}; {columns.ASSUMES}"
    return render(request, "researcher/sensitivity.html", context)


@login_required
@require_GET
def sensitivity_file(request: HttpRequest, name: str) -> HttpResponse:
    """The same cells as CSV, with all digits."""
    study = scores_of(request, name)
    kind = chosen_kind(request, performance.kinds(study))
    text = columns.as_csv(rules.COLUMNS, rules.table(study, kind), kind)
    return download(text, f"{study.name}-sensitivity.csv")
