"""API views for documents and LaTeX tables."""

from typing import Any, ClassVar

from django.core.files.base import ContentFile
from django.http import Http404, HttpResponse
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from analysis.documents import checklists, paper_tables, wording
from analysis.documents import pages as documents_pages
from analysis.scores.api import KIND, OBJECT, KindOfTable
from annotation.models import Study
from annotation.monitoring import report_answers
from annotation.protocol.blinding import scores_of
from annotation.web import form_bodies
from annotation.web.access import right_to, study_of
from annotation.web.problems import Conflict, Unprocessable
from annotation.web.views import DONE, ApiView, Twin, tagged
from tasks.csv_files import download


class TableLatex(KindOfTable):
    """A table as on the LaTeX page, with caption, label, booktabs rules and notes."""

    @extend_schema(
        parameters=[KIND, OpenApiParameter("table", str, "path", enum=list(paper_tables.TABLES))],
        responses={(200, "application/x-tex"): str},
        summary="A table of the study in LaTeX",
        description="Without `kind`, the table covers the first kind of annotators with results.",
    )
    def get(self, request: Request, name: str, table: str) -> HttpResponse:
        study = scores_of(request, name)
        if table not in paper_tables.titles(study):
            raise Http404
        kind = self.kinds(request, study)[0]
        text = paper_tables.latex(study, kind, table)
        return download(text, f"{name}-{table}.tex")


class Report(ApiView):
    """The answers that researchers gave on the report's short form and title page, by field."""

    FIELDS: ClassVar = {
        item: serializers.CharField(required=False) for item in documents_pages.ASKED
    }

    @extend_schema(responses=OBJECT, summary="The answers of the report's short form, by field")
    def get(self, request: Request, name: str) -> Response:
        study = study_of(request, name, "read")
        stored = study.report_answers.filter(item__in=documents_pages.ASKED)
        return tagged(request, {"answers": dict(stored.values_list("item", "text"))})

    @extend_schema(
        summary="Change answers on the report's short form",
        request=form_bodies.shape("ReportBody", FIELDS),
        responses={200: form_bodies.shape("ReportDone", DONE)},
    )
    def post(self, request: Request, name: str) -> Response:
        study = documents_pages.opened_study(request, name, right_to("report"))
        body = form_bodies.as_object(request.data)
        form_bodies.check_known(body, documents_pages.ASKED)
        form = documents_pages.AnswersForm(form_bodies.as_form_data(body))
        form_bodies.check(form)
        made_from = report_answers.versions(study)
        try:
            changed = report_answers.save(study, form.typed(), request.user, made_from)
        except report_answers.StaleAnswers as error:
            raise Conflict(str(error)) from None
        return Response({"done": f"Saved: {wording.count(changed, 'answer')} changed."})


class Sample(Twin):
    """The table that describes the sample. POST adds a part of it from a demographic export."""

    step = documents_pages.SampleTable
    more_fields: ClassVar = {
        "action": serializers.ChoiceField(["read", "remove"], default="read", required=False),
        "csv": serializers.CharField(
            required=False, help_text="the whole CSV; it is read once and not stored"
        ),
    }

    @extend_schema(responses=OpenApiTypes.OBJECT, summary="The sample table")
    def get(self, request: Request, name: str) -> Response:
        return tagged(request, checklists.sample_record(scores_of(request, name)))

    def form(self, study: Study, body: dict[str, Any]) -> Any:
        """Return the same form as the page, passing the text of the CSV as its file."""
        if body.get("action", "read") not in ("read", "remove"):
            raise Unprocessable({"action": ["Expected one of read, remove."]})
        text = body.get("csv", "")
        if not isinstance(text, str):
            raise Unprocessable({"csv": ["Expected the content of the CSV file as a string."]})
        files = {"csv": ContentFile(text.encode(), "export.csv")} if text else {}
        return self.post_of_page.form(study, body, files)
