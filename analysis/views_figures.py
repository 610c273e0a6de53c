"""The page of figures and what is behind them: specifications, data, numbers, pictures."""

from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_GET

from analysis import figures_page, findings_page, tables
from analysis.views import _download, _kind
from annotation.access import study_of


@login_required
@require_GET
def figures(request: HttpRequest, name: str) -> HttpResponse:
    """Each figure with its caption, numbers and downloads; of one kind of annotators."""
    study = study_of(request, name, "read")
    kinds = tables.kinds(study)
    kind = _kind(request, kinds)
    context = {
        "study": study,
        "kind": kind,
        "kinds": kinds,
        "nobody": figures_page.data(study, kind).frames["time"].empty,
        "figures": figures_page.page_figures(study, kind),
        "pictures": list(figures_page.PICTURES) if figures_page.can_draw() else [],
    }
    return render(request, "researcher/figures.html", context)


@login_required
@require_GET
def figure_file(request: HttpRequest, name: str, figure: str, ext: str) -> HttpResponse:
    """One figure as its specification (JSON), its data (CSV) or a picture (SVG, PNG, PDF)."""
    kind, found = _figure(request, name, figure)
    filename = f"{name}-{figure}.{ext}"
    if ext == "json":
        return HttpResponse(found.json, content_type="application/json")
    if ext == "csv":
        text = figures_page.as_csv(kind, found.frame)
        return _download(text, filename, "text/csv; charset=utf-8")
    if ext not in figures_page.PICTURES:
        raise Http404
    if not figures_page.can_draw():
        return HttpResponse(figures_page.NEEDS_VL_CONVERT, status=501, content_type="text/plain")
    return HttpResponse(
        figures_page.picture(found, ext),
        content_type=figures_page.PICTURES[ext],
        headers={"Content-Disposition": f'attachment; filename="{filename}"'},
    )


@login_required
@require_GET
def figure_numbers(request: HttpRequest, name: str, figure: str) -> HttpResponse:
    """The table beside a figure as CSV, with all digits."""
    kind, found = _figure(request, name, figure)
    text = findings_page.as_csv(kind, found.numbers)
    return _download(text, f"{name}-{figure}-numbers.csv", "text/csv; charset=utf-8")


def _figure(request: HttpRequest, name: str, figure: str) -> tuple[str, figures_page.Figure]:
    """The kind that is asked for, and the figure; 404 where there is none to show."""
    study = study_of(request, name, "read")
    kind = _kind(request, tables.kinds(study))
    if figure not in figures_page.NAMES:
        raise Http404
    found = figures_page.figure(study, kind, figure)
    if found.why_not:
        raise Http404
    return kind, found
