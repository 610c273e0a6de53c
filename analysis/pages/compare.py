"""Several studies beside each other: page, CSV, LaTeX and picture of the same comparison."""

from typing import Any

from django.http import Http404, HttpRequest, HttpResponse, QueryDict
from django.shortcuts import render

from analysis.figures import data as figure_data
from analysis.figures import paper_widths, several_studies
from analysis.figures.several_studies import MAX_STUDIES, Comparison
from analysis.pages.tables import reading
from analysis.tables import columns
from analysis.tables.markup import PaperTable, as_latex
from annotation.access import ResearcherRequest, scores_of
from annotation.models import Kind, Study
from tasks.columns import cells, on_page
from tasks.downloads import download

TEX = "application/x-tex; charset=utf-8"


def asked_for(request: HttpRequest) -> Comparison | None:
    """The comparison that an address names by `study` (several) and `kind`; None for no study.

    Each study is asked for by itself, so that nobody sees one by naming it beside their own.
    Raises Http404 or PermissionDenied as `scores_of` does, and Http404 for too many.
    """
    names = list(dict.fromkeys(request.GET.getlist("study")))
    kind = request.GET.get("kind", Kind.PERSON)
    if kind not in Kind.values:
        raise Http404
    if len(names) > MAX_STUDIES:
        raise Http404(f"At most {MAX_STUDIES} studies fit into one figure.")
    studies = [scores_of(request, name) for name in names]
    return several_studies.compare(studies, kind) if studies else None


@reading
def page(request: ResearcherRequest) -> HttpResponse:
    """The studies to choose from, and those that are chosen in one figure and one table."""
    comparison = asked_for(request)
    chosen = [study.name for study in comparison.studies] if comparison else []
    readable = Study.objects.visible_to(request.user, "read").order_by("title", "name")
    context: dict[str, Any] = {
        "readable": [(study, study.name in chosen) for study in readable],
        "kind": request.GET.get("kind", Kind.PERSON),
        "kinds": Kind.choices,
        "most": MAX_STUDIES,
        "comparison": comparison,
        "pictures": list(figure_data.PICTURES) if figure_data.can_draw() else [],
        "widths": paper_widths.INCHES,
        "query": _query(request.GET),
    }
    if comparison:
        shown = comparison.design_columns
        context |= {
            "figure": comparison.figure,
            "design_columns": on_page(shown),
            "design_cells": cells(shown, comparison.differing),
        }
    return render(request, "researcher/compare.html", context)


def _query(sent: QueryDict) -> str:
    """The same choice for the address of a file."""
    kept = QueryDict(mutable=True)
    kept.setlist("study", sent.getlist("study"))
    kept["kind"] = sent.get("kind", Kind.PERSON)
    return kept.urlencode()


def _chosen(request: HttpRequest) -> Comparison:
    comparison = asked_for(request)
    if comparison is None:
        raise Http404
    return comparison


@reading
def file(request: HttpRequest, ext: str) -> HttpResponse:
    """The table as CSV or LaTeX, or the figure as its specification or a picture."""
    comparison = _chosen(request)
    figure = comparison.figure
    filename = f"several-studies.{ext}"
    if ext == "csv":
        text = columns.as_csv(figure.all_columns, figure.numbers, comparison.kind)
        return download(text, filename)
    if ext == "tex":
        return download(latex(comparison), filename, TEX)
    if figure.why_not or ext not in ("json", *figure_data.PICTURES):
        raise Http404
    if ext == "json":
        return HttpResponse(figure.json, content_type="application/json")
    width = request.GET.get("width", "")
    if width not in ("", *paper_widths.INCHES):
        raise Http404
    if not figure_data.can_draw():
        return HttpResponse(figure_data.NEEDS_VL_CONVERT, status=501, content_type="text/plain")
    picture = figure_data.picture(figure, ext, width)
    return download(picture, filename, figure_data.PICTURES[ext])


@reading
def design_file(request: HttpRequest) -> HttpResponse:
    """What differs between the designs, as CSV."""
    comparison = _chosen(request)
    text = columns.as_csv(comparison.design_columns, comparison.differing)
    return download(text, "several-studies-design.csv")


def latex(comparison: Comparison) -> str:
    """Both tables: the scores, and what the designs differ in."""
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
        "several-studies-design", "What differs between the designs of these studies",
        comparison.design_columns, comparison.differing,
    )  # fmt: skip
    return "\n".join(as_latex(table) for table in (scores, design) if table.rows)
