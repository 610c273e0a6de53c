"""The researcher's pages of tables, and the downloads behind them."""

from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse, StreamingHttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_GET, require_POST

from analysis.documents import paper_tables
from analysis.export import files
from analysis.pages.common import chosen_kind, results_of
from analysis.tables import (
    attrition,
    columns,
    findings,
    findings_columns,
    frames,
    performance,
    rendering,
    resampling,
    selection,
    training,
)
from annotation.access import scores_of, study_of
from annotation.rights import right_to
from tasks import columns as table_columns
from tasks.downloads import download, saved_as
from tasks.polling import poll

FORMATS = {
    "md": (rendering.as_markdown, "text/markdown; charset=utf-8"),
    "tex": (rendering.as_latex, "application/x-tex; charset=utf-8"),
}


@login_required
@require_GET
def human_performance(request: HttpRequest, name: str) -> HttpResponse:
    """The table of each kind under its own heading; those with results come first."""
    study = scores_of(request, name)
    frame = frames.annotators(study)
    kinds = performance.kinds_of(frame)
    shown = [table for kind in kinds for table in performance.versions(study, kind, frame)]
    return render(
        request, "researcher/human_performance.html", results_of(study) | {"tables": shown}
    )


@login_required
@require_GET
def human_performance_file(request: HttpRequest, name: str, ext: str) -> HttpResponse:
    """The same tables as a file; kinds one after the other, never mixed."""
    study = scores_of(request, name)
    filename = f"{study.name}-human-performance.{ext}"
    if ext == "csv":
        rows = performance.all_rows(study)
        return download(columns.as_csv(rendering.PERFORMANCE_FILE, rows), filename)
    if ext not in FORMATS:
        raise Http404
    render_table, content_type = FORMATS[ext]
    texts = [render_table(table) for table in performance.all_tables(study)]
    return download("".join(texts), filename, content_type)


@login_required
@require_GET
def training_table(request: HttpRequest, name: str) -> HttpResponse:
    """By block of training examples; shown also while test scores are hidden."""
    study = study_of(request, name, "read")
    kinds = performance.kinds(study)
    tables = [(kind, training.training(study, kind)) for kind in kinds]
    groups = [
        (kind, training.columns(rows), table_columns.cells(training.columns(rows), rows))
        for kind, rows in tables
    ]
    return render(request, "researcher/training_table.html", results_of(study) | {"groups": groups})


@login_required
@require_GET
def training_table_file(request: HttpRequest, name: str) -> HttpResponse:
    study = study_of(request, name, "read")
    text = columns.as_csv(training.BLOCK_SCORES, training.block_scores(study))
    return download(text, f"{study.name}-training.csv")


@login_required
@require_GET
def analysis(request: HttpRequest, name: str) -> HttpResponse:
    """Intervals, agreement, aggregates and contrasts of one kind.

    What needs resampling comes from a job that the page itself asks for, part by part.
    """
    study = scores_of(request, name)
    kinds = performance.kinds(study)
    kind = chosen_kind(request, kinds)
    job = resampling.job_of(study, kind)
    is_waiting = job is not None and not job.is_done
    rows = resampling.at_once(study, kind) if is_waiting or job is None else resampling.stored(job)
    context = {
        **results_of(study),
        "kind": kind,
        "kinds": kinds,
        "job": job if is_waiting else None,
        "tables": findings_columns.page_tables(rows, is_waiting),
        "attrition": attrition.page_table(study, kind),
        "admission": selection.page_table(study, kind),
        "told": selection.told(study),
    }
    return render(request, "researcher/analysis.html", context)


@login_required
@require_POST
def analysis_run(request: HttpRequest, name: str) -> HttpResponse:
    """A part of the job behind the analysis page, which the first of these begins."""
    study = scores_of(request, name, right_to("analysis_run"))
    kind = chosen_kind(request, performance.kinds(study))
    address = f"{reverse('analysis', args=[study.name])}?kind={kind}"
    job = resampling.job_of(study, kind, owner=request.user)
    return redirect(address) if job is None else poll(request, job, address)


@login_required
@require_GET
def analysis_file(request: HttpRequest, name: str, table: str) -> HttpResponse:
    """One of these tables as CSV, with all digits."""
    study = scores_of(request, name)
    kind = chosen_kind(request, performance.kinds(study))
    if table == attrition.NAME:
        text = columns.as_csv(attrition.COLUMNS, attrition.rows(study, kind), kind)
        return download(text, f"{study.name}-{table}.csv")
    if table == selection.NAME:
        admitted = selection.admissions(study, kind)
        text = columns.as_csv(selection.COLUMNS, admitted, kind)
        return download(text, f"{study.name}-{table}.csv")
    if table not in findings.TABLES:
        raise Http404
    rows = resampling.tables(study, kind, table)[table]
    text = columns.as_csv(findings_columns.COLUMNS[table], rows, kind)
    return download(text, f"{study.name}-{table}.csv")


@login_required
@require_GET
def latex_page(request: HttpRequest, name: str) -> HttpResponse:
    """Every table of the study as LaTeX, to copy or to download; nothing is computed here."""
    study = scores_of(request, name)
    kinds = performance.kinds(study)
    context = {
        **results_of(study),
        "kind": chosen_kind(request, kinds),
        "kinds": kinds,
        "titles": paper_tables.titles(study),
    }
    return render(request, "researcher/latex.html", context)


@login_required
@require_GET
def table_latex(request: HttpRequest, name: str, table: str) -> HttpResponse:
    """One of them, as its page shows it; `transposed` makes rows of its columns."""
    study = scores_of(request, name)
    if table not in paper_tables.titles(study):
        raise Http404
    kind = chosen_kind(request, performance.kinds(study))
    text = paper_tables.latex(study, kind, table, request.GET.get("transposed") == "1")
    return download(text, f"{study.name}-{table}.tex", FORMATS["tex"][1])


@login_required
@require_GET
def export_zip(request: HttpRequest, name: str) -> StreamingHttpResponse:
    """All CSVs with verify.py, sent while they are made."""
    study = scores_of(request, name)
    return StreamingHttpResponse(
        files.stream_export(study),
        content_type="application/zip",
        headers=saved_as(f"{study.name}.zip"),
    )
