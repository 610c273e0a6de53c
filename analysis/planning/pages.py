"""The planner page with its forms, and its API view."""

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
from analysis.stats import arg
from annotation.web.access import signed_in, studies_of
from annotation.web.fields import WholeNumberField
from annotation.web.views import ApiView
from tasks import columns


@signed_in("GET")
def plan(request: HttpRequest) -> HttpResponse:
    studies = studies_of(request, "read")
    sources = planner.sources(studies)
    form = PlannerForm(request.GET, sources=sources)
    stated = StatedGainForm(request.GET)
    context = {"form": form, "stated": stated, "has_studies": len(sources) > 1}
    if form.is_valid():
        inputs = form.cleaned_data
        cells = planner.cells_of(studies, inputs["source"])
        rows = [planner.plan(cell, inputs) for cell in cells]
        intervals = planner.interval_columns(inputs)
        differences = planner.KNOWN_COLUMNS[:2] + planner.difference_columns(inputs)
        context |= {
            "source": dict(sources)[inputs["source"]],
            "sentences": planner.sentences(inputs),
            "intervals": (columns.on_page(intervals), columns.cells(intervals, rows)),
            "differences": (columns.on_page(differences), columns.cells(differences, rows)),
        }
    if stated.is_valid():
        gain = stated.cleaned_data
        arms = planned_power.columns(gain)
        context |= {
            "gain_columns": arms,
            "gain_cells": columns.cells(arms, planned_power.plan(gain)),
        }
    return render(request, "planning/planner.html", context)


def _number(label: str, initial: float, low: Any, high: Any, help_text: str = "") -> forms.Field:
    """Return a number field. If `initial` is a whole number, only whole numbers are accepted."""
    field = WholeNumberField if isinstance(initial, int) else forms.FloatField
    return field(label=label, initial=initial, min_value=low, max_value=high, help_text=help_text)


class PlannerForm(forms.Form):
    source = forms.ChoiceField(
        label="Numbers from", help_text="The study or table from which the SDs are taken."
    )
    half_width = _number(
        "Target interval: ± points", 3.0, 0.5, 50,
        "Half-width of the 95 % confidence interval, in points of the score x 100.",
    )  # fmt: skip
    annotators = _number("Annotators per scenario", 3, 2, 1000, "For one task and number of shots.")
    examples = _number("Test examples", 200, 2, 100_000, "Every annotator answers all of them.")
    difference = _number(
        "Difference to detect: points", 5.0, 0.1, 100,
        "Between two numbers of shots, in points of the score x 100.",
    )  # fmt: skip
    comparisons = _number(
        "Comparisons", 1, 1, 1000,
        "Number of comparisons that are tested together. Each is tested at .05 divided by this"
        " number (the first step of Holm's correction).",
    )  # fmt: skip
    anchor_r = _number(
        "Anchors: assumed correlation r", 0.0, 0, 0.99,
        "Correlation between annotators' anchor and test scores at the same number of shots. Enter"
        " 0 for no anchors.",
    )  # fmt: skip

    def __init__(self, data: QueryDict, *, sources: Sequence[tuple[str, str]]):
        initial = {name: field.initial for name, field in self.base_fields.items()}
        super().__init__(initial | {"source": sources[0][0]} | data.dict())
        source = self.fields["source"]
        assert isinstance(source, forms.ChoiceField)
        source.choices = sources


class StatedGainForm(forms.Form):
    """A form for the gains expected in a cross-task study. Its field names have a prefix."""

    base = _number(
        "Mean of the base arm", 70.0, 0, 100,
        "Mean score x 100 of participants without the upstream tasks.",
    )  # fmt: skip
    sd = _number(
        "SD between participants: points", 6.0, 0.1, 50,
        "SD of participants' mean scores, in either arm.",
    )  # fmt: skip
    targets = _number("Unseen tasks", 1, 1, 160, "Each task is answered by different participants.")
    gain = _number("Expected gain: %", 0.0, -100, None, "(new - base) / base, in percent.")
    width = _number(
        "Target interval of the ARG: ± %", 5.0, 0.1, 100,
        "Half-width of its 95 % interval, in percent of the base.",
    )  # fmt: skip
    people = _number(
        "Available participants per arm", 10, 2, 100_000,
        "For each arm of each task. The table shows the resulting interval.",
    )  # fmt: skip

    def __init__(self, data: QueryDict):
        initial = {f"arg-{name}": field.initial for name, field in self.base_fields.items()}
        super().__init__(initial | data.dict(), prefix="arg")

    def clean_base(self) -> float:
        base: float = self.cleaned_data["base"]
        if text := arg.why_no_divisor(base / 100):
            raise forms.ValidationError(
                f"{text[0].upper()}{text[1:]} (as a score from 0 to 1), so a relative gain cannot"
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
    """The planner form. Missing fields are set to their initial values."""

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
        studies = studies_of(request, "read")
        form = PlannerForm(request.query_params, sources=planner.sources(studies))
        if not form.is_valid():
            raise ValidationError({k: list(map(str, e)) for k, e in form.errors.items()})
        inputs = form.cleaned_data
        rows = [planner.plan(c, inputs) for c in planner.cells_of(studies, inputs["source"])]
        every = [*planner.interval_columns(inputs), *planner.difference_columns(inputs)]
        records = as_records(every, rows)
        return Response({"rows": records, "sentences": planner.sentences(inputs)})
