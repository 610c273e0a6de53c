"""Score pages and their downloads. Pages in other rooms use the helpers in this module."""

from collections.abc import Iterable
from typing import Any

from django.contrib.auth.models import User
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils.http import url_has_allowed_host_and_scheme

from analysis.scores import (
    attrition,
    columns,
    findings,
    findings_columns,
    frames,
    marks,
    means,
    overlap,
    performance,
    rendering,
    training,
)
from analysis.scores import sensitivity as rules
from analysis.scores.performance import PerformanceTable
from analysis.stats import two_way
from annotation.models import Kind, Study
from annotation.protocol.blinding import scores_of
from annotation.study import lifecycle
from annotation.web.access import ResearcherRequest, right_to, signed_in, study_of
from tasks import columns as table_columns
from tasks import listing
from tasks.columns import Column
from tasks.csv_files import download
from tasks.jobs import poll


def results_of(study: Study) -> dict[str, Any]:
    return {"study": study, "marks": marks.sentences(study)}


def chosen_kind(request: HttpRequest, kinds: list[str]) -> str:
    """Return the kind in the URL, or the first by default. Raises Http404 for other kinds."""
    kind = request.GET.get("kind", kinds[0])
    if kind not in kinds:
        raise Http404
    return kind


def study_and_kind(request: HttpRequest, name: str) -> tuple[Study, str, dict[str, Any]]:
    study = scores_of(request, name)
    kinds = performance.kinds(study)
    kind = chosen_kind(request, kinds)
    return study, kind, results_of(study) | {"kind": kind, "kinds": kinds}


def address_after(request: HttpRequest, usual: str) -> str:
    """Return the page to go back to (`return_to`), because several pages show the same form."""
    address = request.POST.get("return_to", "")
    is_ours = address[:1] == "/" and url_has_allowed_host_and_scheme(address, None)
    return address if is_ours else usual


def csv_file(
    name: str, fields: Iterable[Column], rows: Iterable[Any], kind: str = ""
) -> HttpResponse:
    """Download rows as NAME.csv. If given, `kind` fills the first column."""
    return download(columns.as_csv(fields, rows, kind), f"{name}.csv")


FORMATS = {"md": rendering.as_markdown, "tex": rendering.as_latex}


def _rehearsed(table: PerformanceTable, user: User) -> PerformanceTable | None:
    """Return the simulated annotators' table from the latest rehearsal of this design, or None."""
    start, shots = lifecycle.with_ending(table.study, "rehearsal"), table.study.shots
    rehearsals = Study.objects.visible_to(user, "read").prefetch_related("tasks").order_by("-pk")
    for rehearsal in rehearsals.filter(rehearsal=True, shots=shots, name__startswith=start):
        if {*rehearsal.tasks.all()} == {*table.tasks}:
            return performance.performance(rehearsal, Kind.SIMULATED, frames.annotators(rehearsal))
    return None


@signed_in("GET")
def human_performance(request: ResearcherRequest, name: str) -> HttpResponse:
    study, kind, context = study_and_kind(request, name)
    tables = performance.versions(study, kind, frames.annotators(study))
    context |= {
        "tables": tables,
        "rehearsed": None if tables[0].has_scores else _rehearsed(tables[0], request.user),
        "strata": means.STRATA.page(study, kind),
    }
    return render(request, "scores/human_performance.html", context)


@signed_in("GET")
def human_performance_file(request: HttpRequest, name: str, ext: str) -> HttpResponse:
    """Download all kinds' tables as one file. Kinds follow one another and are never mixed."""
    study = scores_of(request, name)
    filename = f"{study.name}-human-performance"
    if ext == "csv":
        return csv_file(filename, rendering.PERFORMANCE_FILE, performance.all_rows(study))
    if ext not in FORMATS:
        raise Http404
    text = "".join(map(FORMATS[ext], performance.all_tables(study)))
    return download(text, f"{filename}.{ext}")


@signed_in("GET")
def training_table(request: HttpRequest, name: str) -> HttpResponse:
    """Show scores by block of training examples, even while the test scores are still hidden."""
    study = study_of(request, name, "read")
    kinds = performance.kinds(study)
    kind = chosen_kind(request, kinds)
    rows = columns.in_results_order(study.tasks.all(), training.training(study, kind))
    fields = training.columns(rows)
    context = {"kinds": kinds, "kind": kind, "columns": fields}
    context |= results_of(study) | {"cells": table_columns.cells(fields, rows)}
    return render(request, "scores/training_table.html", context)


@signed_in("GET")
def training_table_file(request: HttpRequest, name: str) -> HttpResponse:
    study = study_of(request, name, "read")
    rows = training.block_scores(study)
    return csv_file(f"{study.name}-training", training.BLOCK_SCORES, rows)


@signed_in("GET")
def analysis(request: HttpRequest, name: str) -> HttpResponse:
    """Show the tables for one kind. Resampled results come from a job that the page runs."""
    study, kind, context = study_and_kind(request, name)
    rows, job = findings.available_tables(study, kind)
    context |= {
        "job": job,
        "tables": [
            table.page(study, kind, rows.get(name, ()))
            | {"is_waiting": bool(job) and name not in rows}
            for name, table in findings_columns.TABLES.items()
        ],
        "of_arms": [table.page(study, kind) for table in findings_columns.ARM_TABLES],
        "warnings": attrition.warnings(study),
    }
    return render(request, "scores/analysis.html", context)


# Maps a kind of work to its main page and its job.
WORK: dict[str, tuple[str, Any]] = {
    "": ("analysis", findings.job_of),
    findings.CURVES: ("figures", findings.curves_job),
    rules.KIND: ("sensitivity", rules.job_of),
    overlap.KIND: ("overlap", overlap.job_of),
}


@signed_in("POST")
def analysis_run(request: HttpRequest, name: str) -> HttpResponse:
    """Run one chunk of the job behind a page (one of WORK). The first request starts the job."""
    study = scores_of(request, name, right_to("analysis_run"))
    kind = chosen_kind(request, performance.kinds(study))
    page, job_of = WORK.get(request.GET.get("work", ""), WORK[""])
    address = address_after(request, f"{reverse(page, args=[study.name])}?kind={kind}")
    job = job_of(study, kind, owner=request.user)
    return redirect(address) if job is None else poll(request, job, address)


@signed_in("GET")
def error_overlap(request: HttpRequest, name: str) -> HttpResponse:
    """Show how often annotators of one kind, or `?annotator=`, make the same errors as a model."""
    study, kind, context = study_and_kind(request, name)
    pseudonym, people = request.GET.get("annotator"), study.participations
    annotator = get_object_or_404(people, pseudonym=pseudonym) if pseudonym else None
    needs_all = annotator or listing.wants_csv(request.GET)
    job = None if needs_all else findings.waiting(overlap.job_of(study, kind))
    rows = [] if job else overlap.table(study, kind, annotator)
    rows = columns.in_results_order(study.tasks.all(), rows)
    if annotator:  # when shown on the annotator's page
        of_annotator = [row for row in rows if row.participation == annotator.pk]
        cells = table_columns.cells(overlap.BRIEF, of_annotator)
        part = {"anchor": "overlap", "label": overlap.OVERLAP.title, "columns": overlap.BRIEF}
        return render(request, "web/_cells.html", part | {"cells": cells})
    table = listing.listing(
        request.GET, rows, overlap.COLUMNS,
        lambda row: f"{row.task} {row.annotator} {row.model} {row.result}",
    )  # fmt: skip
    if listing.wants_csv(request.GET):
        return table.as_csv(f"{study.name}-overlap-{kind}.csv")
    context |= {
        "job": job, "table": overlap.OVERLAP, "listing": table if rows else None,
        "agreeing": len({row.participation for row in rows if row.agrees}),
        "annotators": len({row.participation for row in rows if not row.why_not}),
    }  # fmt: skip
    return render(request, "scores/overlap.html", context)


@signed_in("GET")
def sensitivity(request: HttpRequest, name: str) -> HttpResponse:
    study, kind, context = study_and_kind(request, name)
    rows, job = rules.available_rows(study, kind)
    tables = rules.task_tables(columns.in_results_order(study.tasks.all(), rows))
    context |= {"job": job, "tables": tables, "question": f"{two_way.BOTH}; {columns.ASSUMES}"}
    return render(request, "scores/sensitivity.html", context)
