"""Checklists and the table of the sample by program."""

from typing import Any, ClassVar

from django.http import Http404, HttpResponse
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from analysis.documents.checklists import FORMS, files
from analysis.documents.checklists.entries import Form, Reply
from annotation.access import scores_of
from annotation.api.problems import Conflict, Unprocessable
from annotation.api.views import ApiView, StudyTwin, tagged
from annotation.models import Study
from annotation.monitoring.sample import ExportError, drop_export, store_export
from annotation.rights import right_to
from tasks.downloads import download

FORM = OpenApiParameter("form", str, "path", enum=list(FORMS))
DRAFT = "The study is a draft: its checklists are made when it is open."


def _form(request: Request, name: str, form: str) -> Form:
    study = scores_of(request, name)
    if study.is_draft:
        raise Http404(DRAFT)
    filled = files.form_of(study, form)
    if filled is None:
        raise Http404(f"There is no such form; known: {', '.join(FORMS)}.")
    return filled


class ChecklistForm(ApiView):
    class FormShape(serializers.Serializer):
        """A checklist in the order of its form."""

        class ItemShape(serializers.Serializer):
            number = serializers.CharField()
            title = serializers.CharField(help_text="in our own words")
            reply = serializers.ChoiceField(
                [str(reply) for reply in Reply], help_text="the kind of answer of the form"
            )
            answer = serializers.CharField(help_text="status: Yes, Partial, No, Unknown or N/A")
            evidence = serializers.CharField(allow_blank=True)

        form = serializers.CharField()
        title = serializers.CharField()
        source = serializers.CharField()
        items = ItemShape(many=True)

    @extend_schema(
        parameters=[FORM], responses=FormShape, summary="A checklist of a venue, filled in"
    )
    def get(self, request: Request, name: str, form: str) -> Response:
        return tagged(request, files.as_record(_form(request, name, form)))


class ChecklistLatex(ApiView):
    @extend_schema(
        parameters=[FORM],
        responses={(200, "application/x-tex"): str},
        summary="The same in LaTeX",
    )
    def get(self, request: Request, name: str, form: str) -> HttpResponse:
        text = files.as_latex(_form(request, name, form))
        return download(text, f"{name}-{form}.tex", "application/x-tex; charset=utf-8")


class Sample(StudyTwin):
    """The table of the sample; POST makes the part that is from a demographic export."""

    page = "sample_upload"
    summary = "Make the table of the sample of Prolific's demographic export, or delete it"
    more_fields: ClassVar = {
        "action": serializers.ChoiceField(["read", "remove"], default="read", required=False),
        "csv": serializers.CharField(
            required=False, help_text="the whole CSV; it is read once and not stored"
        ),
    }
    faults: ClassVar = {ExportError: "csv"}

    @extend_schema(responses=OpenApiTypes.OBJECT, summary="The table of the sample")
    def get(self, request: Request, name: str) -> Response:
        return tagged(request, files.sample_record(scores_of(request, name)))

    def door(self, request: Request, sent: dict[str, Any], **names: Any) -> Study:
        study = scores_of(request, names["name"], right_to(self.page))
        if study.is_draft:
            raise Conflict("The study is a draft: it has no sample yet.")
        return study

    def form(self, about: Study, sent: dict[str, Any]) -> None:
        action = sent.get("action", "read")
        if action not in ("read", "remove"):
            raise Unprocessable({"action": ["Write read or remove."]})
        if action == "read" and not (isinstance(sent.get("csv"), str) and sent["csv"]):
            raise Unprocessable({"csv": ["Write the CSV as a text."]})

    def do(self, about: Study, sent: dict[str, Any], request: Request) -> dict[str, str]:
        if sent.get("action") == "remove":
            drop_export(about, request.user)
            return {"done": "The table of the demographic export was deleted."}
        people = store_export(about, sent["csv"], request.user)
        return {"done": f"Read: {people} in the analysis. The file was not stored."}
