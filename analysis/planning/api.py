"""The planner as JSON."""

from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.exceptions import ValidationError
from rest_framework.request import Request
from rest_framework.response import Response

from analysis.planning import forms as planning_forms
from analysis.planning import planner
from analysis.scores.api import OBJECT
from analysis.scores.columns import as_records
from annotation.web.views import ApiView


class Planner(ApiView):
    """The form of the page; missing fields have their initial values."""

    parameters = frozenset(planning_forms.PlannerForm.base_fields)

    @extend_schema(
        parameters=[
            OpenApiParameter(name, str, description=str(field.label))
            for name, field in planning_forms.PlannerForm.base_fields.items()
        ],
        responses=OBJECT,
        summary="How many annotators and examples a wanted interval needs",
    )
    def get(self, request: Request) -> Response:
        sources = planner.sources(request.user)
        form = planning_forms.PlannerForm(request.query_params, sources=sources)
        if not form.is_valid():
            raise ValidationError({k: [str(e) for e in said] for k, said in form.errors.items()})
        wanted = form.cleaned_data
        rows = [planner.plan(c, wanted) for c in planner.known(request.user, wanted["source"])]
        told = as_records(planner.columns(wanted), rows)
        return Response({"rows": told, "sentences": list(planner.sentences(wanted))})
