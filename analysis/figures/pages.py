"""Pages, downloads and API views for figures that cover one or more studies."""

from types import SimpleNamespace
from typing import Any

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.http import urlencode
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.exceptions import ValidationError
from rest_framework.request import Request
from rest_framework.response import Response

from analysis.figures import data as figure_data
from analysis.figures import paper_widths, several_studies
from analysis.figures.several_studies import MAX_STUDIES
from analysis.scores import findings, performance
from analysis.scores.api import KIND, OBJECT, Rows
from analysis.scores.columns import as_records, plain
from analysis.scores.markup import PaperTable, as_latex
from analysis.scores.pages import chosen_kind, csv_file, study_and_kind
from annotation.models import Kind, Study
from annotation.protocol.blinding import scores_of
from annotation.web.access import ResearcherRequest, signed_in
from annotation.web.views import ApiView, tagged
from tasks.columns import cells, on_page
from tasks.csv_files import download


@signed_in("GET")
def figures(request: HttpRequest, name: str) -> HttpResponse:
    """Show each figure with its caption and downloads, for one kind of annotators.

    Slow parts have their own URLs: the browser requests each drawing separately, and requests a
    figure's numbers when the user opens them.
    """
    study, kind, context = study_and_kind(request, name)
    steps = figure_data.answered(study, kind)
    context |= {
        "is_empty": not steps,
        "job": findings.waiting(findings.curves_job(study, kind)),
        "figures": figure_data.page_figures(study, kind, steps),
        "pictures": list(figure_data.PICTURES) if figure_data.can_draw() else [],
        "widths": paper_widths.INCHES,
    }
    return render(request, "figures/figures.html", context)


@signed_in("GET")
def figure_file(request: HttpRequest, name: str, figure: str, ext: str) -> HttpResponse:
    """Download a figure as JSON, CSV, SVG, PNG or PDF, at one of two widths (`width`)."""
    kind, chart = _figure(request, name, figure)
    filename = f"{name}-{figure}.{ext}"
    if ext == "csv":
        return download(figure_data.frame_csv(kind, chart.frame), filename)
    if width := request.GET.get("width"):
        filename = f"{name}-{figure}-{width}.{ext}"
    return _picture(request, chart, ext, filename)


def _picture(
    request: HttpRequest, figure: figure_data.Figure, ext: str, filename: str
) -> HttpResponse:
    width = request.GET.get("width", "")
    if ext == "json":
        return HttpResponse(figure.json, content_type="application/json")
    if ext not in figure_data.PICTURES or width not in ("", *paper_widths.INCHES):
        raise Http404
    if not figure_data.can_draw():
        return HttpResponse(figure_data.NEEDS_VL_CONVERT, status=501, content_type="text/plain")
    picture = figure_data.picture(figure, ext, width)
    return download(picture, filename, figure_data.PICTURES[ext])


@signed_in("GET")
def figure_table(request: HttpRequest, name: str, figure: str) -> HttpResponse:
    _kind, chart = _figure(request, name, figure)
    return render(request, "figures/_figure_numbers.html", {"figure": chart})


@signed_in("GET")
def figure_numbers(request: HttpRequest, name: str, figure: str) -> HttpResponse:
    kind, chart = _figure(request, name, figure)
    return csv_file(f"{name}-{figure}-numbers", chart.all_columns, chart.numbers, kind)


def _figure(request: HttpRequest, name: str, figure: str) -> tuple[str, figure_data.Figure]:
    """Return the requested kind and figure, or raise Http404 if the figure cannot be shown."""
    study = scores_of(request, name)
    kind = chosen_kind(request, performance.kinds(study))
    if figure not in figure_data.names(study):
        raise Http404
    chart = figure_data.figure(study, kind, figure)
    if chart.why_not:
        raise Http404
    return kind, chart


# Comparison of several studies, as a page, CSV, LaTeX and picture.


def _studies(request: HttpRequest) -> tuple[list[Study], str]:
    """Return the studies listed in the `study` parameters, and `kind`.

    Access to each study is checked, so that adding a study to the URL does not reveal it. Raises
    Http404 or PermissionDenied as `scores_of` does, and Http404 for too many studies.
    """
    names = list(dict.fromkeys(request.GET.getlist("study")))
    kind = request.GET.get("kind", Kind.PERSON)
    if kind not in Kind.values:
        raise Http404
    if len(names) > MAX_STUDIES:
        raise Http404(f"A figure can show at most {MAX_STUDIES} studies.")
    return [scores_of(request, name) for name in names], kind


@signed_in("GET")
def compare_page(request: ResearcherRequest) -> HttpResponse:
    studies, kind = _studies(request)
    jobs = ((study, findings.waiting(findings.curves_job(study, kind))) for study in studies)
    study, job = next((pair for pair in jobs if pair[1]), (None, None))
    comparison = several_studies.compare(studies, kind) if studies and not job else None
    names = [study.name for study in studies]
    readable = Study.objects.visible_to(request.user, "read").order_by("title", "name")
    context: dict[str, Any] = {
        "readable": [(study, study.name in names) for study in readable],
        "job": job, "job_study": study, "kind": kind, "kinds": Kind.choices, "most": MAX_STUDIES,
        "comparison": comparison, "widths": paper_widths.INCHES,
        "query": urlencode({"study": names, "kind": kind}, doseq=True),
        "pictures": list(figure_data.PICTURES) if figure_data.can_draw() else [],
    }  # fmt: skip
    if comparison:
        columns = comparison.design_columns
        context |= {
            "figure": comparison.figure, "design_columns": on_page(columns),
            "design_cells": cells(columns, comparison.differing),
        }  # fmt: skip
    return render(request, "figures/compare.html", context)


def _comparison(request: HttpRequest) -> SimpleNamespace:
    studies, kind = _studies(request)
    if not studies:
        raise Http404
    return several_studies.compare(studies, kind)


@signed_in("GET")
def compare_file(request: HttpRequest, ext: str) -> HttpResponse:
    comparison = _comparison(request)
    figure = comparison.figure
    filename = f"several-studies.{ext}"
    if ext == "csv":
        return csv_file("several-studies", figure.all_columns, figure.numbers, comparison.kind)
    if ext == "tex":
        return download(compare_latex(comparison), filename)
    if figure.why_not:
        raise Http404
    return _picture(request, figure, ext, filename)


@signed_in("GET")
def compare_design(request: HttpRequest) -> HttpResponse:
    comparison = _comparison(request)
    return csv_file("several-studies-design", comparison.design_columns, comparison.differing)


def compare_latex(comparison: SimpleNamespace) -> str:
    figure = comparison.figure
    titles = ", ".join(
        several_studies.title_of(study, comparison.studies) for study in comparison.studies
    )
    hashes = [
        f"{s.name}: SHA-256 of the frozen design {s.manifest_hash}" for s in comparison.studies
    ]
    scores = PaperTable(
        "several-studies", f"Several studies: {titles}", figure.all_columns, figure.numbers,
        [figure.caption, *hashes],
    )  # fmt: skip
    design = PaperTable(
        "several-studies-design", "Differences between the designs of these studies",
        comparison.design_columns, comparison.differing,
    )  # fmt: skip
    return "\n".join(as_latex(table) for table in (scores, design) if table.rows)


# API views for the data behind figures and comparisons.


class FigureData(ApiView):
    class DataOfFigure(serializers.Serializer):
        """`data` holds the figure's rows, and `numbers` holds its table's rows.

        Scores, gains, SDs and slopes are on a scale from 0 to 1.
        """

        kind = serializers.ChoiceField(Kind.choices)
        why_not = serializers.CharField(help_text="why there is no figure; empty if there is one")
        numbers = Rows()
        data = Rows()

    @extend_schema(
        responses=DataOfFigure(many=True),
        parameters=[OpenApiParameter("figure", str, "path", enum=[*figure_data.COLUMNS])],
        summary="The data of a figure, for each kind of annotators",
        description="shots: the shot curve; models: humans and models; learning: over the training"
        " step; drift: over the annotation step; calibration: S1 by stated confidence; sizes: SD"
        " by model size; gains: gains of a cross-task study.",
    )
    def get(self, request: Request, name: str, figure: str) -> Response:
        study = scores_of(request, name)
        if figure not in figure_data.names(study):
            raise Http404
        replies = []
        for kind in performance.kinds(study):
            chart = figure_data.figure(study, kind, figure)
            data = [] if chart.why_not else figure_data.in_file(chart.frame).to_dict("records")
            replies.append(
                {
                    "kind": kind,
                    "why_not": chart.why_not,
                    "numbers": as_records(chart.all_columns, chart.numbers),
                    "data": [{key: plain(cell) for key, cell in row.items()} for row in data],
                }
            )
        return Response(replies)


class SeveralStudies(ApiView):
    """Several studies whose results the user may read, compared as on the page."""

    parameters = frozenset({"study", "kind"})

    @extend_schema(
        parameters=[
            KIND,
            OpenApiParameter("study", str, many=True, required=True, description="repeat it"),
        ],
        responses=OBJECT,
        summary="Scores of several studies, and the differences between their designs",
    )
    def get(self, request: Request) -> Response:
        studies, kind = _studies(request)
        if not studies:
            raise ValidationError({"study": ["Name the studies: ?study=one&study=other"]})
        comparison = several_studies.compare(studies, kind)
        rows = as_records(comparison.figure.all_columns, comparison.figure.numbers)
        reply = {
            "rows": [{"kind": comparison.kind} | row for row in rows],
            "differing": [{"what": d.what, "values": dict(d.values)} for d in comparison.differing],
            "without": comparison.without,
        }
        return tagged(request, reply)
