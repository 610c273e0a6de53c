"""API views for documents and LaTeX tables."""

from typing import Any, ClassVar

from django.http import Http404, HttpResponse
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from analysis.documents import checklists, paper_tables, preregistration, report
from analysis.documents import pages as documents_pages
from analysis.documents.blocks import Form, Reply
from analysis.documents.checklists import FORMS
from analysis.scores.api import KIND, OBJECT, KindOfTable
from annotation.models import Study
from annotation.monitoring import report_answers
from annotation.monitoring.sample import ExportError, drop_export, store_export
from annotation.protocol.blinding import scores_of
from annotation.web.access import study_of
from annotation.web.problems import Conflict, Unprocessable
from annotation.web.rights import right_to
from annotation.web.views import ApiView, StudyTwin, tagged
from tasks.csv_files import download


class TableLatex(KindOfTable):
    """A table as on the LaTeX page: caption, label, booktabs, notes."""

    @extend_schema(
        parameters=[KIND, OpenApiParameter("table", str, "path", enum=list(paper_tables.TABLES))],
        responses={(200, "application/x-tex"): str},
        summary="A table of the study in LaTeX",
        description="For `kind`, or for the first kind of annotators with results.",
    )
    def get(self, request: Request, name: str, table: str) -> HttpResponse:
        study = scores_of(request, name)
        if table not in paper_tables.titles(study):
            raise Http404
        kind = self.kinds(request, study)[0]
        text = paper_tables.latex(study, kind, table)
        return download(text, f"{name}-{table}.tex")


class Preregistration(ApiView):
    @extend_schema(responses={(200, "text/markdown"): str}, summary="The preregistration")
    def get(self, request: Request, name: str) -> HttpResponse:
        document = preregistration.for_study(study_of(request, name, "read"))
        return documents_pages.markdown_file(document, f"{name}-prereg.md")


class ReportText(ApiView):
    @extend_schema(responses={(200, "text/markdown"): str}, summary="The report")
    def get(self, request: Request, name: str) -> HttpResponse:
        document = report.for_study(scores_of(request, name))
        return documents_pages.markdown_file(document, f"{name}-report.md")


class Report(StudyTwin):
    """The researcher's answers on the short form and the title page, by field."""

    page = "report"
    summary = "Answer fields of the report's short form"
    more_fields: ClassVar = {
        item: serializers.CharField(required=False) for item in documents_pages.ASKED
    }

    @extend_schema(responses=OBJECT, summary="The answers of the report's short form, by field")
    def get(self, request: Request, name: str) -> Response:
        study = study_of(request, name, "read")
        stored = study.report_answers.filter(item__in=documents_pages.ASKED)
        return tagged(request, {"answers": dict(stored.values_list("item", "text"))})

    def form(self, study: Study, answers: dict[str, Any]) -> None:
        if study.is_draft:
            raise Conflict("The study is a draft. Open it to get a report.")
        if errors := {k: ["Enter a text."] for k, v in answers.items() if not isinstance(v, str)}:
            raise Unprocessable(errors)
        limit = documents_pages.MAX_ANSWER
        too_long = f"Keep the answer under {limit} characters."
        if errors := {k: [too_long] for k, v in answers.items() if len(v) > limit}:
            raise Unprocessable(errors)
        if problem := documents_pages.answer_problems(answers):
            raise Unprocessable({item: [message] for item, message in problem.items()})

    def do(self, study: Study, answers: dict[str, Any], request: Request) -> dict[str, str]:
        made_from = report_answers.versions(study)
        changed = report_answers.save(study, answers, request.user, made_from)
        return {"done": f"Saved: {changed} changed."}


FORM = OpenApiParameter("form", str, "path", enum=list(FORMS))
DRAFT = "The study is a draft: its checklists are made when it is open."


def _form(request: Request, name: str, form: str) -> Form:
    study = scores_of(request, name)
    if study.is_draft:
        raise Http404(DRAFT)
    filled = checklists.form_of(study, form)
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
        return tagged(request, checklists.as_record(_form(request, name, form)))


class ChecklistLatex(ApiView):
    @extend_schema(
        parameters=[FORM], responses={(200, "application/x-tex"): str}, summary="The same in LaTeX"
    )
    def get(self, request: Request, name: str, form: str) -> HttpResponse:
        return download(checklists.as_latex(_form(request, name, form)), f"{name}-{form}.tex")


class Sample(StudyTwin):
    """The sample table. POST creates one part of it from a demographic export."""

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
        return tagged(request, checklists.sample_record(scores_of(request, name)))

    def subject(self, request: Request, body: dict[str, Any], **names: Any) -> Study:
        study = scores_of(request, names["name"], right_to(self.page))
        if study.is_draft:
            raise Conflict("The study is a draft: it has no sample yet.")
        return study

    def form(self, study: Study, data: dict[str, Any]) -> None:
        action = data.get("action", "read")
        if action not in ("read", "remove"):
            raise Unprocessable({"action": ["Write read or remove."]})
        if action == "read" and not (isinstance(data.get("csv"), str) and data["csv"]):
            raise Unprocessable({"csv": ["Write the CSV as a text."]})

    def do(self, study: Study, data: dict[str, Any], request: Request) -> dict[str, str]:
        if data.get("action") == "remove":
            drop_export(study, request.user)
            return {"done": "The table of the demographic export was deleted."}
        people = store_export(study, data["csv"], request.user)
        return {"done": f"Read: {people} in the analysis. The file was not stored."}
