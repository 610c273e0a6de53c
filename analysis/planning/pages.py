"""The planner: its page, forms and API."""

import math
from collections.abc import Sequence
from typing import Any

from django import forms
from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import render
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.exceptions import ValidationError
from rest_framework.request import Request
from rest_framework.response import Response

from analysis.planning import planned_power, planner
from analysis.scores.api import OBJECT
from analysis.scores.columns import as_records
from analysis.scores.pages import reading
from analysis.stats import arg
from annotation.web.fields import WholeNumberField
from annotation.web.views import ApiView
from tasks import columns as table_columns


@reading
def plan(request: HttpRequest) -> HttpResponse:
    """The annotators and examples that a wanted interval needs. Stores nothing."""
    sources = planner.sources(request.user)
    form = PlannerForm(request.GET, sources=sources)
    stated = StatedGainForm(request.GET)
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


class PlannerForm(forms.Form):
    """The wanted numbers; missing ones have initial values, so that the page starts with a plan."""

    source = forms.ChoiceField(label="Numbers from")
    half_width = forms.FloatField(
        label="Target interval: ± points",
        initial=3.0,
        min_value=0.5,
        max_value=50,
        help_text="Half-width of the 95 % confidence interval, in points of S1 x 100.",
    )
    annotators = WholeNumberField(
        label="Annotators per scenario", initial=3, min_value=2, max_value=1000
    )
    examples = WholeNumberField(label="Test examples", initial=200, min_value=2, max_value=100_000)
    difference = forms.FloatField(
        label="Difference to detect: points",
        initial=5.0,
        min_value=0.1,
        max_value=100,
        help_text="Between two numbers of shots, in points of S1 x 100.",
    )
    comparisons = WholeNumberField(
        label="Comparisons",
        initial=1,
        min_value=1,
        max_value=1000,
        help_text="Number of comparisons tested together. Each is tested at .05 divided by this"
        " number (first step of Holm's correction).",
    )

    def __init__(self, asked: QueryDict, *, sources: Sequence[tuple[str, str]]):
        first = {name: field.initial for name, field in self.base_fields.items()}
        super().__init__(first | {"source": sources[0][0]} | asked.dict())
        source = self.fields["source"]
        assert isinstance(source, forms.ChoiceField)
        source.choices = sources


class StatedGainForm(forms.Form):
    """Expectations for a cross-task study; the prefix separates its fields from PlannerForm's."""

    base = forms.FloatField(
        label="Mean of the base arm",
        initial=70.0,
        min_value=0,
        max_value=100,
        help_text="Mean score x 100 of participants without the upstream tasks.",
    )
    sd = forms.FloatField(
        label="SD between participants: points",
        initial=6.0,
        min_value=0.1,
        max_value=50,
        help_text="SD of participants' mean scores, in either arm.",
    )
    targets = WholeNumberField(
        label="Unseen tasks",
        initial=1,
        min_value=1,
        max_value=160,
        help_text="Each task has different participants.",
    )
    gain = forms.FloatField(
        label="Expected gain: %",
        initial=0.0,
        min_value=-100,
        help_text="(new - base) / base, in percent.",
    )
    width = forms.FloatField(
        label="Target interval of the ARG: ± %",
        initial=5.0,
        min_value=0.1,
        max_value=100,
        help_text="Half-width of its 95 % interval, in percent of the base.",
    )
    people = WholeNumberField(
        label="Available participants per arm",
        initial=10,
        min_value=2,
        max_value=100_000,
        help_text="In each arm of each task. The table shows the resulting interval.",
    )

    def __init__(self, asked: QueryDict):
        first = {f"arg-{name}": field.initial for name, field in self.base_fields.items()}
        super().__init__(first | asked.dict(), prefix="arg")

    def clean_base(self) -> float:
        base: float = self.cleaned_data["base"]
        if why := arg.why_no_divisor(base / 100):
            raise forms.ValidationError(
                f"{why[0].upper()}{why[1:]} (as a score from 0 to 1), so a relative gain cannot"
                " be computed. Plan the difference instead, or enter the mean x 100."
            )
        return base

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or {}
        if "base" in cleaned and "gain" in cleaned:
            new = cleaned["base"] * (1 + cleaned["gain"] / 100)
            if new > 100:
                self.add_error(
                    "gain",
                    f"With this gain, a base of {cleaned['base']:g} would become {new:g}, above"
                    f" 100: {math.floor(1000 * (100 / cleaned['base'] - 1)) / 10:g} % is the"
                    " highest possible gain.",
                )
        return cleaned


class Planner(ApiView):
    """The form of the page; missing fields have their initial values."""

    parameters = frozenset(PlannerForm.base_fields)

    @extend_schema(
        parameters=[
            OpenApiParameter(name, str, description=str(field.label))
            for name, field in PlannerForm.base_fields.items()
        ],
        responses=OBJECT,
        summary="Annotators and examples required for a target interval",
    )
    def get(self, request: Request) -> Response:
        sources = planner.sources(request.user)
        form = PlannerForm(request.query_params, sources=sources)
        if not form.is_valid():
            raise ValidationError({k: [str(e) for e in said] for k, said in form.errors.items()})
        wanted = form.cleaned_data
        rows = [planner.plan(c, wanted) for c in planner.known(request.user, wanted["source"])]
        told = as_records(planner.columns(wanted), rows)
        return Response({"rows": told, "sentences": list(planner.sentences(wanted))})
