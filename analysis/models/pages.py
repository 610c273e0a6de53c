"""Pages for uploading predictions, showing models' scores, and comparing models with humans."""

from collections.abc import Sequence
from typing import Any

from django.contrib import messages
from django.contrib.auth.models import User
from django.db.models import Count
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse

from analysis.models import differences, leaderboard, model_runs, models_columns
from analysis.models import models as model_tables
from analysis.models.forms import UploadForm
from analysis.models.leaderboard import Board
from analysis.models.models_columns import AGGREGATES, SCORES
from analysis.scores import findings, metrics, performance, scores
from analysis.scores.columns import TableRows, in_results_order, table_columns
from analysis.scores.pages import WORK, address_after, chosen_kind, csv_file, study_and_kind
from annotation.models import Kind
from annotation.protocol.blinding import scores_of
from annotation.web.access import (
    ResearcherRequest,
    may_run,
    own_model,
    predictions_job_of,
    signed_in,
)
from annotation.web.posts import Post, page
from tasks import listing, teams, uploads
from tasks.columns import Column, cells, on_page
from tasks.jobs import poll
from tasks.models import Job, LanguageModel, PredictionFile
from tasks.predictions import store as prediction_store

WORK[differences.KIND] = ("study_differences", differences.job_of)
SHOWN = 20  # how many of the examples with the largest differences to show
SENSITIVITY = ("contexts", "se_clustered", "p_sign_flip", "smallest_p")  # columns of a second table
UPLOADED = "{}?upload={}#upload"


@uploads.takes_files(uploads.MAX_BYTES)
@signed_in("GET", "POST")
def models(request: ResearcherRequest) -> HttpResponse:
    """List the models, with the state of the job `?upload=` (GET), or store an upload (POST)."""
    upload = request.GET.get("upload", "")
    job = predictions_job_of(request, int(upload[:18])) if upload.isdecimal() else None
    uploaded = job.parameters["model"] if job else request.GET.get("model", "")
    if request.method == "POST":
        form = UploadForm(request.POST, request.FILES)
        if form.is_valid() and (stored := form.store(request.user)):
            return redirect(_address_of(stored, request, len(form.cleaned_data["uploads"])))
    else:
        form = UploadForm(initial={"name": uploaded})
    listed = LanguageModel.objects.select_related("uploaded_by").order_by("name")
    rows = list(
        listed.annotate(file_count=Count("files"), task_count=Count("files__task", distinct=True))
    )
    results = listing.listing(
        request.GET, rows, LISTED,
        lambda row: f"{row.name} {row.title} {row.uploaded_by.get_username()}",
        is_archived=lambda row: bool(row.archived_at),
    )  # fmt: skip
    if listing.wants_csv(request.GET):
        return results.as_csv("models-list.csv")
    context = {"form": form, "listing": results if rows else None, "job": job, "uploaded": uploaded}
    context |= {"return_to": request.POST.get("return_to", "")}
    context |= job.result[-1] if job and job.is_done else {}
    return render(request, "models/models.html", context, status=422 if form.is_bound else 200)


# Columns for the list of models.
LISTED = table_columns("models")


def _address_of(stored: LanguageModel | Job, request: ResearcherRequest, files: int) -> str:
    if isinstance(stored, Job):
        return UPLOADED.format(reverse("models"), stored.pk)
    messages.success(request, f"{files} file{'s' if files > 1 else ''} stored.")
    return address_after(request, reverse("model", args=[stored.name]))


@signed_in("GET", "POST")
def model_upload(request: ResearcherRequest, pk: int) -> HttpResponse:
    """Run one chunk of the job (POST), or redirect to the page that shows its progress (GET)."""
    job, address = predictions_job_of(request, pk), UPLOADED.format(reverse("models"), pk)
    return redirect(address) if request.method == "GET" else poll(request, job, address)


@signed_in("GET")
def models_file(request: ResearcherRequest, name: str = "") -> HttpResponse:
    """Download the scores of all models, or of the one with this name."""
    files = get_object_or_404(LanguageModel, name=name).files if name else PredictionFile.objects
    filename = f"{name}-scores" if name else "models"
    return csv_file(filename, models_columns.MODEL, model_tables.model_rows(files.all()))


@signed_in("GET")
def model(request: ResearcherRequest, name: str) -> HttpResponse:
    listed = LanguageModel.objects.select_related("uploaded_by")
    language_model = get_object_or_404(listed, name=name)
    rows = model_tables.model_rows(language_model.files.all())
    files = language_model.files.with_scores().select_related("task")
    context = {
        "model": language_model, "is_mine": language_model.uploaded_by == request.user,
        "columns": on_page(models_columns.MODEL),
        "rows": list(zip(rows, cells(models_columns.MODEL, rows), strict=True)),
        "files": [(file, 100 * file.mean_s1) for file in files],  # type: ignore[attr-defined]
        "remarks": [f"{file.filename}: {remark}" for file in files for remark in file.remarks],
    }  # fmt: skip
    return render(request, "models/model.html", context)


class OwnModelPost(Post[LanguageModel]):
    def subject(self, request: HttpRequest, data: Any, **names: Any) -> LanguageModel:
        may_run(request)
        return own_model(request, names["name"])


class ArchiveModel(OwnModelPost):
    """Hide your own model from the list of models; /unarchive/ reverses this."""

    row, path = "model_archive", "archive/"
    summary = "Hide a model of yours from the list of models"
    is_archived = True

    def do(self, model: LanguageModel, data: dict[str, Any], by: User) -> str:
        teams.set_archived(model, self.is_archived)
        return f"{model.name} is {'archived' if self.is_archived else 'in the list again'}."


class UnarchiveModel(ArchiveModel):
    """Reverse /archive/."""

    row, path = "model_unarchive", "unarchive/"
    summary = "Show an archived model in the list of models again"
    is_archived = False


class DeleteModel(OwnModelPost):
    row = "model_delete"
    summary = "Delete a model of yours that has no files"
    conflicts = (prediction_store.PredictionsError,)
    success = 204
    shows_message = True

    def do(self, model: LanguageModel, data: dict[str, Any], by: User) -> str:
        prediction_store.delete_model(model)
        return f"{model.name} was deleted."


class DeleteFile(Post[PredictionFile]):
    row = "prediction_file_delete"
    summary = "Delete a prediction file of yours, for example to upload another"
    conflicts = (prediction_store.PredictionsError,)
    success = 204
    shows_message = True

    def subject(self, request: HttpRequest, data: Any, **names: Any) -> PredictionFile:
        may_run(request)
        return get_object_or_404(own_model(request, names["name"]).files, pk=names["pk"])

    def do(self, file: PredictionFile, data: dict[str, Any], by: User) -> str:
        prediction_store.delete(file)
        return f"{file.filename} was deleted."


def _with_error(
    request: ResearcherRequest, subject: LanguageModel | PredictionFile, problem: str
) -> HttpResponse:
    messages.error(request, problem)
    return redirect("model", subject.name if isinstance(subject, LanguageModel) else subject.model)


POSTS = {post: page(post, model, to="model") for post in (ArchiveModel, UnarchiveModel)}
delete_model = page(DeleteModel, _with_error, to=lambda *_of, name: redirect("models"))
delete_file = page(DeleteFile, _with_error, to=lambda *_of, name, pk: redirect("model", name))


# Models in one study -----------------------------------------------------------------------------


@signed_in("GET")
def study_models(request: ResearcherRequest, name: str) -> HttpResponse:
    """Show humans, uploaded models and published figures, best first, above the upload form."""
    study, kind, context = study_and_kind(request, name)
    tables = model_tables.tables(study, kind)
    rows = [row for table in tables for row in table.rows]
    context |= {
        "form": UploadForm(), "return_to": request.get_full_path(), "tables": tables,
        "not_compared": scores.not_compared(study.tasks.all()),
        "score_columns": models_columns.SCORE_COLUMNS,
        "explanations": models_columns.explanations(model_tables.KIND_NAMES[Kind(kind)], rows),
        "effort_columns": on_page(model_runs.EFFORT),
        "effort_cells": cells(model_runs.EFFORT, model_runs.efforts(study)),
        "metric_columns": on_page(metrics.COLUMNS), "metric_note": metrics.NOTE,
        "metric_cells": cells(metrics.COLUMNS, metrics.page_rows(study, kind)),
    }  # fmt: skip
    return render(request, "models/study_models.html", context)


@signed_in("GET")
def study_differences(request: ResearcherRequest, name: str) -> HttpResponse:
    study, kind, context = study_and_kind(request, name)
    job = findings.waiting(differences.job_of(study, kind))
    compared = [] if job else differences.differences(study, kind)
    pairings = in_results_order(study.tasks.all(), compared)
    of_all = models_columns.DIFFERENCES
    main = [column for column in of_all if column.name not in SENSITIVITY]
    further = [*of_all[:3], *(column for column in of_all if column.name in SENSITIVITY)]
    context |= {
        "job": job, "who": model_tables.KIND_NAMES[Kind(kind)], "differences": pairings,
        "difference_columns": on_page(main), "difference_cells": cells(main, pairings),
        "sensitivity_columns": on_page(further), "sensitivity_cells": cells(further, pairings),
        "left_out": differences.LEFT_OUT, "late": differences.late(pairings),
    }  # fmt: skip
    if pairings:
        pairing = _pairing(request, pairings)
        pairs = differences.pairs(study, kind, pairing)[:SHOWN]
        predicted = differences.predicted_texts(pairing, [pair.example for pair in pairs])
        columns = models_columns.pair_columns(pairing)
        context |= {
            "chosen": pairing,
            "pair_columns": on_page(columns),
            "pairs": [
                (pair.example, texts, predicted[pair.example.pk])
                for pair, texts in zip(pairs, cells(columns, pairs), strict=True)
            ],
        }
    return render(request, "models/study_differences.html", context)


# Maps each table on the models page to its columns and rows.
FILES: dict[str, tuple[Sequence[Column], TableRows]] = {
    "scores": (SCORES, lambda *of: model_tables.score_rows(model_tables.tables(*of))),
    "aggregates": (AGGREGATES, lambda *of: model_tables.aggregate_rows(model_tables.tables(*of))),
    "effort": (model_runs.EFFORT, lambda study, _kind: model_runs.efforts(study)),
    "metrics": (metrics.COLUMNS, lambda study, _kind: metrics.rows(study)),
    "differences": (models_columns.DIFFERENCES, differences.differences),
}


@signed_in("GET")
def study_models_file(request: ResearcherRequest, name: str, table: str) -> HttpResponse:
    study = scores_of(request, name)
    kind = chosen_kind(request, performance.kinds(study))
    filename = f"{study.name}-models-{table}"
    if table == "examples":
        pairing = _pairing(request, differences.differences(study, kind))
        rows = differences.pairs(study, kind, pairing)
        return csv_file(filename, models_columns.pair_columns(pairing), rows, kind)
    if table not in FILES:
        raise Http404
    columns, rows_of = FILES[table]
    with_kind = kind if table == "differences" else ""
    return csv_file(filename, columns, rows_of(study, kind), with_kind)


def _pairing(request: ResearcherRequest, pairings: list[Any]) -> Any:
    key = request.GET.get("pair")
    pairing = next((pairing for pairing in pairings if key in (None, pairing.key)), None)
    if pairing is None:
        raise Http404
    return pairing


@signed_in("GET")
def leaderboard_page(request: ResearcherRequest, name: str) -> HttpResponse:
    study, kind, context = study_and_kind(request, name)
    job = findings.waiting(findings.curves_job(study, kind))
    boards = [] if job else leaderboard.boards(study, kind)
    context |= {
        "job": job,
        "boards": [_board(board, number) for number, board in enumerate(boards)],
        "not_compared": scores.not_compared(study.tasks.all()),
    }
    return render(request, "models/leaderboard.html", context)


def _board(board: Board, number: int) -> dict[str, Any]:
    columns = leaderboard.board_columns(board, "shown")
    groups = [
        (title, list(zip(entries, cells(columns, entries), strict=True)))
        for title, entries in board.groups
    ]
    return {
        "shown": board, "columns": columns, "groups": groups, "width": len(columns) + 1,
        "anchor": f"leaderboard-{number}",
    }  # fmt: skip
