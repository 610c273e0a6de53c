"""The API of further results: the data of other pages of results, documents and files."""

from collections.abc import Sequence
from typing import Any, ClassVar

from django.http import FileResponse, Http404, HttpResponse, StreamingHttpResponse
from django.http.response import HttpResponseBase
from django.urls import reverse
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.exceptions import ValidationError
from rest_framework.request import Request
from rest_framework.response import Response

from analysis.cross_task.upstream import OF_ARMS
from analysis.documents import blocks, paper_tables, preregistration, report
from analysis.documents.pages import MARKDOWN
from analysis.examples import difficulty, gold_audit
from analysis.export import bundle_job
from analysis.figures import pages as figures
from analysis.figures.several_studies import Comparison
from analysis.planning import planner
from analysis.scores import forms, performance
from analysis.scores.columns import as_records
from analysis.scores.pages import TABLES, Rows, zip_of
from annotation.models import Kind, Study
from annotation.monitoring import report_answers
from annotation.web import jobs
from annotation.web.access import scores_of, study_of
from annotation.web.problems import Conflict, Unprocessable
from annotation.web.rights import right_to
from annotation.web.views import ApiView, StudyTwin, tagged
from tasks.columns import Column
from tasks.downloads import download
from tasks.models import Job

OBJECT = OpenApiTypes.OBJECT  # rows by the columns of the page


def _bundle(job: Job) -> dict[str, Any]:
    study = Study.objects.filter(pk=job.parameters["study"]).first()
    address = reverse("api_release_zip", args=[study.name]) if study else None
    return {"archive": address, "made_at": job.result[0]["at"]}


jobs.OUTCOMES[bundle_job.KIND] = _bundle


class KindOfTable(ApiView):
    """A table of all kinds of annotators, or of one: `?kind=`."""

    parameters = frozenset({"kind"})

    def kinds(self, request: Request, study: Study) -> Sequence[str]:
        """The requested kinds; ValidationError for one without results."""
        every = performance.kinds(study)
        kind = request.query_params.get("kind")
        if kind is None:
            return every
        if kind not in every:
            raise ValidationError({"kind": [f"Write one of {', '.join(every)}."]})
        return [kind]

    def rows(
        self, request: Request, study: Study, columns: Sequence[Column], rows: Rows
    ) -> list[dict[str, Any]]:
        """The rows of each requested kind."""
        kinds = self.kinds(request, study)
        return [row for kind in kinds for row in self.told(kind, columns, rows(study, kind))]

    @staticmethod
    def told(kind: str, columns: Sequence[Column], rows: Any) -> list[dict[str, Any]]:
        """The rows of a kind, each with the name of the kind."""
        return [{"kind": kind} | record for record in as_records(columns, rows)]


KIND = OpenApiParameter("kind", str, enum=Kind.values, description="only annotators of that kind")


class CrossTask(KindOfTable):
    @extend_schema(
        parameters=[KIND, OpenApiParameter("table", str, "path", enum=list(OF_ARMS))],
        responses=OBJECT,
        summary="A table of a cross-task study: gains, manipulation, curve or plan",
    )
    def get(self, request: Request, name: str, table: str) -> Response:
        study = scores_of(request, name)
        if table not in OF_ARMS:
            raise Http404
        shown = OF_ARMS[table]
        rows = self.rows(request, study, shown.columns, shown.rows)
        return tagged(request, {"table": table, "rows": rows})


class Sensitivity(KindOfTable):
    @extend_schema(
        parameters=[KIND], responses=OBJECT, summary="The cells under other inclusion criteria"
    )
    def get(self, request: Request, name: str) -> Response:
        study = scores_of(request, name)
        return tagged(request, {"rows": self.rows(request, study, *TABLES["sensitivity"])})


class Examples(KindOfTable):
    parameters = frozenset({"kind", "task"})

    @extend_schema(
        parameters=[KIND, OpenApiParameter("task", str, description="name; the first if left out")],
        responses=OBJECT,
        summary="The test examples of one task, hardest first",
    )
    def get(self, request: Request, name: str) -> Response:
        study = scores_of(request, name)
        tasks = {task.name: task for task in study.tasks.order_by("name")}
        wanted = request.query_params.get("task", next(iter(tasks), ""))
        if wanted not in tasks:
            raise ValidationError({"task": [f"Write one of {', '.join(tasks)}."]})
        shown = difficulty.file_columns(sorted(study.shots))
        rows = self.rows(
            request, study, shown, lambda s, kind: difficulty.hardest(s, tasks[wanted], kind)
        )
        return tagged(request, {"task": wanted, "rows": rows})


class GoldAudit(KindOfTable):
    @extend_schema(
        parameters=[KIND],
        responses=OBJECT,
        summary="Test examples on which all annotators of a kind agree against the gold",
    )
    def get(self, request: Request, name: str) -> Response:
        study = scores_of(request, name)
        told: dict[str, list[Any]] = {"tallies": [], "doubts": []}
        for kind in self.kinds(request, study):
            tallies, doubts = gold_audit.doubts(study, kind)
            told["tallies"] += self.told(kind, gold_audit.TALLY, tallies)
            told["doubts"] += self.told(kind, gold_audit.COLUMNS, doubts)
        return tagged(request, told)


class Planner(ApiView):
    """The form of the page; missing fields have their initial values."""

    parameters = frozenset(forms.PlannerForm.base_fields)

    @extend_schema(
        parameters=[
            OpenApiParameter(name, str, description=str(field.label))
            for name, field in forms.PlannerForm.base_fields.items()
        ],
        responses=OBJECT,
        summary="How many annotators and examples a wanted interval needs",
    )
    def get(self, request: Request) -> Response:
        sources = planner.sources(request.user)
        form = forms.PlannerForm(request.query_params, sources=sources)
        if not form.is_valid():
            raise ValidationError({k: [str(e) for e in said] for k, said in form.errors.items()})
        wanted = form.cleaned_data
        rows = [planner.plan(c, wanted) for c in planner.known(request.user, wanted["source"])]
        told = as_records(planner.columns(wanted), rows)
        return Response({"rows": told, "sentences": list(planner.sentences(wanted))})


class SeveralStudies(ApiView):
    """Several studies whose results the user may read, compared as on the page."""

    parameters = frozenset({"study", "kind"})

    @extend_schema(
        parameters=[
            KIND,
            OpenApiParameter("study", str, many=True, required=True, description="repeat it"),
        ],
        responses=OBJECT,
        summary="Scores of several studies, and what differs between their designs",
    )
    def get(self, request: Request) -> Response:
        comparison = figures.asked_for(request)
        if comparison is None:
            raise ValidationError({"study": ["Name the studies: ?study=one&study=other"]})
        told = {
            "rows": self._rows(comparison),
            "differing": [{"what": d.what, "values": dict(d.values)} for d in comparison.differing],
            "without": comparison.without,
        }
        return tagged(request, told)

    @staticmethod
    def _rows(comparison: Comparison) -> list[dict[str, Any]]:
        figure = comparison.figure
        rows = as_records(figure.all_columns, figure.numbers)
        return [{"kind": comparison.kind} | row for row in rows]


class TableLatex(KindOfTable):
    """A table as on the page LaTeX: caption, label, booktabs, notes."""

    @extend_schema(
        parameters=[KIND, OpenApiParameter("table", str, "path", enum=list(paper_tables.TABLES))],
        responses={(200, "application/x-tex"): str},
        summary="A table of the study in LaTeX",
        description="Of the first kind of annotators that has results, or of `kind`.",
    )
    def get(self, request: Request, name: str, table: str) -> HttpResponse:
        study = scores_of(request, name)
        if table not in paper_tables.titles(study):
            raise Http404
        kind = self.kinds(request, study)[0]
        text = paper_tables.latex(study, kind, table)
        return download(text, f"{name}-{table}.tex", "application/x-tex; charset=utf-8")


# Documents and files ------------------------------------------------------------------------------


class Preregistration(ApiView):
    @extend_schema(responses={(200, "text/markdown"): str}, summary="The preregistration")
    def get(self, request: Request, name: str) -> HttpResponse:
        return _markdown(preregistration.for_study(study_of(request, name, "read")), name, "prereg")


class ReportText(ApiView):
    @extend_schema(responses={(200, "text/markdown"): str}, summary="The report")
    def get(self, request: Request, name: str) -> HttpResponse:
        return _markdown(report.for_study(scores_of(request, name)), name, "report")


def _markdown(document: Any, name: str, what: str) -> HttpResponse:
    if document is None:
        raise Http404("A draft has none: opening the study makes it.")
    return download(blocks.as_markdown(document), f"{name}-{what}.md", MARKDOWN)


class Report(StudyTwin):
    """The researcher's answers of the short form and the title page, by field."""

    page = "report"
    summary = "Answer fields of the report's short form"
    more_fields: ClassVar = {item: serializers.CharField(required=False) for item in forms.ASKED}

    @extend_schema(responses=OBJECT, summary="The answers of the report's short form, by field")
    def get(self, request: Request, name: str) -> Response:
        study = study_of(request, name, "read")
        stored = study.report_answers.filter(item__in=forms.ASKED)
        return tagged(request, {"answers": dict(stored.values_list("item", "text"))})

    def form(self, about: Study, sent: dict[str, Any]) -> None:
        if about.is_draft:
            raise Conflict("The study is a draft: a report is made when it is open.")
        if wrong := {k: ["Write a text."] for k, v in sent.items() if not isinstance(v, str)}:
            raise Unprocessable(wrong)
        too_long = f"Keep the answer under {forms.MAX_ANSWER} characters."
        if wrong := {k: [too_long] for k, v in sent.items() if len(v) > forms.MAX_ANSWER}:
            raise Unprocessable(wrong)
        if problem := forms.answer_problems(sent):
            raise Unprocessable({item: [words] for item, words in problem.items()})

    def do(self, about: Study, sent: dict[str, Any], request: Request) -> dict[str, str]:
        made_from = report_answers.versions(about)
        changed = report_answers.save(about, sent, request.user, made_from)
        return {"done": f"Saved: {changed} changed."}


class ExportZip(ApiView):
    @extend_schema(
        responses={(200, "application/zip"): bytes}, summary="All CSVs with verify.py, streamed"
    )
    def get(self, request: Request, name: str) -> StreamingHttpResponse:
        return zip_of(scores_of(request, name))


class Release(StudyTwin):
    """The release bundle: made by a job, and stored until it is replaced.

    200 if the existing one is current, 202 while it is being made.
    """

    page = "release_prepare"
    form_class = forms.BundleForm
    reply = jobs.JobShape
    success = 202
    summary = "Make the release bundle, as a job"

    def door(self, request: Request, sent: dict[str, Any], **names: Any) -> Study:
        study = scores_of(request, names["name"], right_to(self.page))
        if study.is_draft:
            raise Conflict("The study is a draft: there is nothing to release.")
        return study

    def do(self, about: Study, sent: dict[str, Any], request: Request) -> Response:
        job = bundle_job.prepare(about, request.user, sent["round_times"])
        return Response(jobs.as_record(job), status=200 if job.is_done else 202)


class ReleaseZip(ApiView):
    @extend_schema(responses={(200, "application/zip"): bytes}, summary="The release bundle")
    def get(self, request: Request, name: str) -> HttpResponseBase:
        study = scores_of(request, name)
        archive = bundle_job.archive_of(bundle_job.job_of(study))
        if archive is None:
            raise Http404("There is no bundle: POST release/ makes it.")
        return FileResponse(
            archive.open("rb"), as_attachment=True, filename=f"{study.name}-release.zip"
        )
