"""The page of figures and what is behind them: specifications, data, numbers, pictures."""

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render

from analysis.figures import data as figure_data
from analysis.figures import paper_widths
from analysis.pages.tables import chosen_kind, csv_file, of_kind, reading, results_of
from analysis.tables import performance
from annotation.access import scores_of
from tasks.downloads import download


@reading
def figures(request: HttpRequest, name: str) -> HttpResponse:
    """Each figure with its caption and downloads, of one kind of annotators.

    What takes time comes by addresses of its own: the browser asks for each drawing, and for the
    numbers of a figure when they are opened.
    """
    study, kind, context = of_kind(request, name)
    context |= {
        "nobody": not figure_data.answered(study, kind),
        "figures": figure_data.page_figures(study, kind),
        "pictures": list(figure_data.PICTURES) if figure_data.can_draw() else [],
        "widths": paper_widths.INCHES,
    }
    return render(request, "researcher/figures.html", context)


@reading
def figure_file(request: HttpRequest, name: str, figure: str, ext: str) -> HttpResponse:
    """One figure as its specification (JSON), its data (CSV) or a picture (SVG, PNG, PDF).

    `width` lays a picture out for one column of a paper (single) or for both (double).
    """
    kind, chosen = _figure(request, name, figure)
    filename = f"{name}-{figure}.{ext}"
    if ext == "json":
        return HttpResponse(chosen.json, content_type="application/json")
    if ext == "csv":
        text = figure_data.frame_csv(kind, chosen.frame)
        return download(text, filename)
    if ext not in figure_data.PICTURES:
        raise Http404
    if not figure_data.can_draw():
        return HttpResponse(figure_data.NEEDS_VL_CONVERT, status=501, content_type="text/plain")
    width = request.GET.get("width", "")
    if width not in ("", *paper_widths.INCHES):
        raise Http404
    if width:
        filename = f"{name}-{figure}-{width}.{ext}"
    picture = figure_data.picture(chosen, ext, width)
    return download(picture, filename, figure_data.PICTURES[ext])


@reading
def figure_table(request: HttpRequest, name: str, figure: str) -> HttpResponse:
    """The numbers of a figure as a table: for its place on the page, or as a page of its own."""
    kind, chosen = _figure(request, name, figure)
    if request.htmx:  # type: ignore[attr-defined]  # django-htmx
        return render(request, "researcher/_figure_numbers.html", {"figure": chosen})
    context = {**results_of(scores_of(request, name)), "figure": chosen, "kind": kind}
    return render(request, "researcher/figure_numbers.html", context)


@reading
def figure_numbers(request: HttpRequest, name: str, figure: str) -> HttpResponse:
    """The table beside a figure as CSV, with all digits."""
    kind, chosen = _figure(request, name, figure)
    return csv_file(f"{name}-{figure}-numbers", chosen.all_columns, chosen.numbers, kind)


def _figure(request: HttpRequest, name: str, figure: str) -> tuple[str, figure_data.Figure]:
    """The kind that is asked for, and the figure; 404 where there is none to show."""
    study = scores_of(request, name)
    kind = chosen_kind(request, performance.kinds(study))
    if figure not in figure_data.NAMES:
        raise Http404
    chosen = figure_data.figure(study, kind, figure)
    if chosen.why_not:
        raise Http404
    return kind, chosen
