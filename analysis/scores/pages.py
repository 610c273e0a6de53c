"""The researcher's pages of tables, and the downloads behind them."""

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any, TypeVar

from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse, StreamingHttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_GET, require_POST

from analysis.cross_task import cross_task, upstream
from analysis.documents import paper_tables
from analysis.examples import gold_audit
from analysis.export import files
from analysis.models import leaderboard
from analysis.models.leaderboard import Board
from analysis.planning import planned_power, planner
from analysis.scores import (
    attrition,
    columns,
    findings,
    findings_columns,
    forms,
    frames,
    marks,
    performance,
    published,
    rendering,
    training,
)
from analysis.scores import sensitivity as rules
from analysis.scores.attrition import ADMISSION, ATTRITION
from analysis.stats import two_way
from annotation.models import Study
from annotation.web.access import ResearcherRequest, scores_of, study_of
from annotation.web.rights import right_to
from tasks import columns as table_columns
from tasks.columns import Column, cells, on_page
from tasks.downloads import download, saved_as
from tasks.polling import poll

View = TypeVar("View", bound=Callable[..., HttpResponseBase])


def reading(view: View) -> View:
    """Restrict a page or a file to signed-in users and GET."""
    return login_required(require_GET(view))


def results_of(study: Study) -> dict[str, Any]:
    """The study, and the marks of all its tables."""
    return {"study": study, "marks": marks.sentences(study)}


def chosen_kind(request: HttpRequest, kinds: list[str]) -> str:
    """The kind of annotators in the URL, by default the first of `kinds`.

    Raises Http404 for a kind that has no results in this study.
    """
    kind = request.GET.get("kind", kinds[0])
    if kind not in kinds:
        raise Http404
    return kind


def of_kind(request: HttpRequest, name: str) -> tuple[Study, str, dict[str, Any]]:
    """The study, the requested kind, and the shared context of pages for one kind.

    Raises Http404 and PermissionDenied as `scores_of` and `chosen_kind` do.
    """
    study = scores_of(request, name)
    kinds = performance.kinds(study)
    kind = chosen_kind(request, kinds)
    return study, kind, results_of(study) | {"kind": kind, "kinds": kinds}


def csv_file(name: str, shown: Iterable[Column], rows: Iterable[Any], kind: str) -> HttpResponse:
    """The rows of that kind as NAME.csv, with all digits."""
    return download(columns.as_csv(shown, rows, kind), f"{name}.csv")


FORMATS = {
    "md": (rendering.as_markdown, "text/markdown; charset=utf-8"),
    "tex": (rendering.as_latex, "application/x-tex; charset=utf-8"),
}


@reading
def human_performance(request: HttpRequest, name: str) -> HttpResponse:
    """The table of each kind under a separate heading; kinds with results come first."""
    study = scores_of(request, name)
    frame = frames.annotators(study)
    kinds = performance.kinds_of(frame)
    shown = [table for kind in kinds for table in performance.versions(study, kind, frame)]
    return render(request, "scores/human_performance.html", results_of(study) | {"tables": shown})


@reading
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


@reading
def training_table(request: HttpRequest, name: str) -> HttpResponse:
    """Scores by block of training examples; available while test scores are hidden."""
    study = study_of(request, name, "read")
    kinds = performance.kinds(study)
    tables = [(kind, training.training(study, kind)) for kind in kinds]
    groups = [
        (kind, training.columns(rows), table_columns.cells(training.columns(rows), rows))
        for kind, rows in tables
    ]
    return render(request, "scores/training_table.html", results_of(study) | {"groups": groups})


@reading
def training_table_file(request: HttpRequest, name: str) -> HttpResponse:
    study = study_of(request, name, "read")
    text = columns.as_csv(training.BLOCK_SCORES, training.block_scores(study))
    return download(text, f"{study.name}-training.csv")


@reading
def analysis(request: HttpRequest, name: str) -> HttpResponse:
    """Intervals, agreement, aggregates and contrasts of one kind.

    Resampled results come from a job that the page requests, part by part.
    """
    study, kind, context = of_kind(request, name)
    rows, job = findings.at_hand(study, kind)
    context |= {
        "job": job,
        "tables": findings_columns.page_tables(rows, job is not None),
        "attrition": ATTRITION.page(study, kind),
        "admission": ADMISSION.page(study, kind),
        "told": attrition.told(study),
    }
    return render(request, "scores/analysis.html", context)


@login_required
@require_POST
def analysis_run(request: HttpRequest, name: str) -> HttpResponse:
    """Run a part of the job behind the analysis page; the first request starts the job."""
    study = scores_of(request, name, right_to("analysis_run"))
    kind = chosen_kind(request, performance.kinds(study))
    address = f"{reverse('analysis', args=[study.name])}?kind={kind}"
    job = findings.job_of(study, kind, owner=request.user)
    return redirect(address) if job is None else poll(request, job, address)


def _finding(name: str, study: Study, kind: str) -> Sequence[findings.Finding]:
    return findings.tables(study, kind, name)[name]


Rows = Callable[[Study, str], Sequence[Any]]
# Name of a table -> its columns, and its rows of one kind.
TABLES: dict[str, tuple[Sequence[Column], Rows]] = {
    **{name: (findings_columns.COLUMNS[name], partial(_finding, name)) for name in findings.TABLES},
    **{table.name: (table.columns, table.rows) for table in (ATTRITION, ADMISSION)},
    "sensitivity": (rules.COLUMNS, rules.table),
    "leaderboard": (leaderboard.COLUMNS, leaderboard.rows),
    "gold-audit": (gold_audit.COLUMNS, gold_audit.rows),
}


@reading
def table_file(request: HttpRequest, name: str, table: str) -> HttpResponse:
    """One of these tables as CSV, with all digits."""
    study = scores_of(request, name)
    kind = chosen_kind(request, performance.kinds(study))
    if table not in TABLES:
        raise Http404
    shown, rows = TABLES[table]
    return csv_file(f"{study.name}-{table}", shown, rows(study, kind), kind)


@reading
def latex_page(request: HttpRequest, name: str) -> HttpResponse:
    """Every table of the study as LaTeX, to copy or to download; computes nothing."""
    study, _kind, context = of_kind(request, name)
    titles = {"titles": paper_tables.titles(study)}
    return render(request, "scores/latex.html", context | titles)


@reading
def table_latex(request: HttpRequest, name: str, table: str) -> HttpResponse:
    """One of these tables as LaTeX."""
    study = scores_of(request, name)
    if table not in paper_tables.titles(study):
        raise Http404
    kind = chosen_kind(request, performance.kinds(study))
    text = paper_tables.latex(study, kind, table)
    return download(text, f"{study.name}-{table}.tex", FORMATS["tex"][1])


@reading
def export_zip(request: HttpRequest, name: str) -> StreamingHttpResponse:
    """All CSVs with verify.py, streamed while they are generated."""
    return zip_of(scores_of(request, name))


def zip_of(study: Study) -> StreamingHttpResponse:
    """The export of a study as NAME.zip."""
    return StreamingHttpResponse(
        files.stream_export(study),
        content_type="application/zip",
        headers=saved_as(f"{study.name}.zip"),
    )


# The leaderboard of a study's tasks: page and CSV; JSON is in api.py.


@reading
def leaderboard_page(request: ResearcherRequest, name: str) -> HttpResponse:
    study, kind, context = of_kind(request, name)
    boards = leaderboard.boards(study, kind)
    context |= {
        "boards": [_shown(board, number) for number, board in enumerate(boards)],
        "not_compared": published.not_compared(study.tasks.all()),
    }
    return render(request, "models/leaderboard.html", context)


def _shown(board: Board, number: int) -> dict[str, Any]:
    shown = leaderboard.of_board(board)
    groups = [
        (words, list(zip(entries, cells(shown, entries), strict=True)))
        for words, entries in board.groups
    ]
    return {
        "shown": board,
        "columns": shown,
        "groups": groups,
        "width": len(shown) + 1,
        "anchor": f"leaderboard-{number}",
    }


# Results of a cross-task study: gains of its arms, and its upstream training.


@reading
def cross_task_page(request: HttpRequest, name: str) -> HttpResponse:
    """Gains with their intervals, the models of the paper, and the manipulation check."""
    study, kind, context = of_kind(request, name)
    tables = {name: table.page(study, kind) for name, table in upstream.OF_ARMS.items()}
    published = cross_task.published()
    context |= {
        "tables": tables,
        "sentences": list(cross_task.sentences(cross_task.gains(study, kind))),
        "question": cross_task.QUESTION,
        "published": {
            "columns": on_page(cross_task.PUBLISHED),
            "cells": cells(cross_task.PUBLISHED, published),
        },
    }
    return render(request, "cross_task/cross_task.html", context)


@reading
def cross_task_file(request: HttpRequest, name: str, table: str) -> HttpResponse:
    """One of these tables as CSV, of every kind, with all digits."""
    study = scores_of(request, name)
    if table not in upstream.OF_ARMS:
        raise Http404
    shown = upstream.OF_ARMS[table]
    every = [row for kind in performance.kinds(study) for row in shown.rows(study, kind)]
    every = list(dict.fromkeys(every))  # published rows appear once
    return csv_file(f"{study.name}-{table}", shown.columns, every, "")


# The planner, and the sensitivity of the results to inclusion.


@reading
def plan(request: HttpRequest) -> HttpResponse:
    """The annotators and examples that a wanted interval needs. Stores nothing."""
    sources = planner.sources(request.user)
    form = forms.PlannerForm(request.GET, sources=sources)
    stated = forms.StatedGainForm(request.GET)
    context = {"form": form, "stated": stated, "has_studies": len(sources) > 1}
    if form.is_valid():
        wanted = form.cleaned_data
        cells = planner.known(request.user, wanted["source"])
        shown = planner.columns(wanted)
        context |= {
            "source": dict(sources)[wanted["source"]],
            "sentences": planner.sentences(wanted),
            "columns": shown,
            "cells": table_columns.cells(shown, [planner.plan(cell, wanted) for cell in cells]),
        }
    if stated.is_valid():
        gain = stated.cleaned_data
        shown = planned_power.columns(gain)
        context |= {
            "formula": planned_power.FORMULA,
            "gain_columns": shown,
            "gain_cells": table_columns.cells(shown, planned_power.plan(gain)),
        }
    return render(request, "planning/planner.html", context)


@reading
def sensitivity(request: HttpRequest, name: str) -> HttpResponse:
    """The human-performance cells under other inclusion criteria, for one kind."""
    study, kind, context = of_kind(request, name)
    tables = rules.task_tables(rules.table(study, kind))
    context |= {"tables": tables, "question": f"{two_way.BOTH}; {columns.ASSUMES}"}
    return render(request, "scores/sensitivity.html", context)
