"""The planner."""

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from analysis.planning import forms as planning_forms
from analysis.planning import planned_power, planner
from analysis.scores.pages import reading
from tasks import columns as table_columns


@reading
def plan(request: HttpRequest) -> HttpResponse:
    """The annotators and examples that a wanted interval needs. Stores nothing."""
    sources = planner.sources(request.user)
    form = planning_forms.PlannerForm(request.GET, sources=sources)
    stated = planning_forms.StatedGainForm(request.GET)
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
        shown = planned_power.columns(gain)
        context |= {
            "formula": planned_power.FORMULA,
            "gain_columns": shown,
            "gain_cells": table_columns.cells(shown, planned_power.plan(gain)),
        }
    return render(request, "planning/planner.html", context)
