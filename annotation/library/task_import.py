"""Adding a task: upload files in any format, review the data report and examples, confirm.

An upload becomes a task when it is confirmed. Until then, only its uploader can see it.
"""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any
from uuid import UUID

from django import forms
from django.contrib import messages
from django.core.files.uploadedfile import UploadedFile
from django.http import Http404, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.cache import never_cache

from annotation.library import gym_import
from annotation.library.dataset_import import ReadingForm, add_problem, dataset_columns
from annotation.library.gym_import import gym_tasks, url_of
from annotation.models import Step
from annotation.participation.preview import show
from annotation.participation.question import Place
from annotation.participation.turn import TurnPage
from annotation.web.access import ResearcherRequest, signed_in, upload_of
from annotation.web.fields import FilesField, FilesInput
from tasks import data_report, dataset_uploads, disk, teams, upload_jobs, uploads
from tasks.datasets.making import CARD_FILE
from tasks.datasets.reading import ENDINGS
from tasks.folders import FILE_NAME
from tasks.gym import reader
from tasks.importing import CLUES
from tasks.jobs import go_to, poll
from tasks.models import Example, Task, TaskUpload

CHANGED = "The files have changed since you opened that page. Review them, then import again."
SHOWN = ("context", "question", "gold", "explanation", "options")
MAX_NAMES = 10  # maximum number of file names in an error message


class CardForm(forms.Form):
    card = forms.ChoiceField(
        choices=[("", "task.toml, one of the files")]
        + [(name, f"{name}: card included with Handful") for name in CLUES],
        required=False,
        error_messages={"invalid_choice": "Choose one of the cards from the list."},
        help_text="The card defines how the task is presented to annotators, including"
        " instructions, labels and help examples. Handful comes with cards for the six CLUES"
        " tasks.",
    )


class RemoveForm(forms.Form):
    remove = forms.CharField(strip=False)


class AddForm(CardForm, ReadingForm):
    key = "add"
    upload = FilesField(
        label="Files", required=False, allow_empty_file=True,
        help_text="Drop one file, several files, a folder or a ZIP here, at most 200 MB in total.",
        widget=FilesInput({"hx-preserve": True}),
    )  # fmt: skip
    folder = FilesField(
        label="Or all files of a folder", required=False, allow_empty_file=True,
        widget=FilesInput({"webkitdirectory": True, "hx-preserve": True}),
        help_text="The files of its folders are included.",
    )  # fmt: skip

    @property
    def all_files(self) -> list[UploadedFile]:
        return [*self.cleaned_data["upload"], *self.cleaned_data["folder"]]

    @property
    def options(self) -> list[tuple[str, list[forms.BoundField]]]:
        layouts = {
            "For a labelled dataset": ReadingForm.base_fields,
            "For the CLUES layout": CardForm.base_fields,
            "For the Few-shot Gym": ["folder"],
        }
        return [(title, [self[name] for name in names]) for title, names in layouts.items()]

    def parts(self) -> Iterator[tuple[str, Iterable[bytes]]]:
        """Yield the name and content of each file, including those in ZIPs. Raises UploadError."""
        for file in self.all_files:
            yield from uploads.parts(file)


@uploads.takes_files(uploads.MAX_BYTES, uploads.MAX_FILES)
@never_cache
@signed_in("GET", "POST")
def task_add(request: ResearcherRequest) -> HttpResponse:
    """Show the form and unfinished imports on GET, and store the files and redirect on POST."""
    form = AddForm(request.POST, request.FILES) if request.method == "POST" else AddForm()
    if form.is_bound:
        uploads.drop_old()
        if form.is_valid():
            try:
                return go_to(request, url_of(_begin(form, request.user)))
            except uploads.UploadError as error:
                for problem in error.problems:
                    add_problem(form, problem, "upload")
    context = {
        "form": form,
        "max_bytes": uploads.MAX_BYTES,
        "unfinished": TaskUpload.objects.filter(owner=request.user),
    }
    return render(request, "library/task_add.html", context, status=422 if form.is_bound else 200)


def _begin(form: AddForm, owner: Any) -> TaskUpload:
    """Store the files as their format requires and return the first upload.

    The file names determine the format. A single file without a card is a dataset, because other
    formats consist of several files or require a card. If there are several datasets, they are
    imported one after another, each as a task. Raises UploadError.
    """
    data = form.cleaned_data
    names = [name for name, _content in form.parts()]
    files_of_task = [n for n in names if n == CARD_FILE or FILE_NAME.fullmatch(n)]
    is_alone = len(names) == 1 and names[0] != CARD_FILE
    if files_of_task and (data["card"] or not is_alone):
        with uploads.new_upload(owner) as upload:
            upload.card_name = data["card"]
            uploads.add(upload, form.all_files)
            if not uploads.names(upload):
                raise uploads.UploadError(*upload.refused)
        upload_jobs.start_check(upload, owner)
        return upload
    if not is_alone and any(reader.FILE_NAME.fullmatch(name) for name in names):
        return dataset_uploads.begin_gym(form.all_files, owner)
    are_datasets = len(names) <= MAX_NAMES and all(Path(n).suffix.lower() in ENDINGS for n in names)
    if is_alone or (names and are_datasets):
        datasets = []
        try:
            for part in form.parts():
                datasets.append(dataset_uploads.begin(*part, form.reading, owner))
        except uploads.UploadError:
            for upload in datasets:
                uploads.drop(upload)
            raise
        return datasets[0]
    suffix = f" and {len(names) - MAX_NAMES} more" if len(names) > MAX_NAMES else ""
    raise uploads.UploadError(
        f"Found {', '.join(names[:MAX_NAMES]) or 'no files'}{suffix}. Expected one labelled"
        " dataset, or files named <task>_test.jsonl and <task>_train_<shots>_<number>.jsonl"
        " (CLUES layout), or NAME_K_SEED_train.tsv, ..._dev.tsv and ..._test.tsv (Few-shot Gym)."
    )


@never_cache
@signed_in("GET")
def task_upload(request: ResearcherRequest, pk: UUID) -> HttpResponse:
    """Show the next step of the import, or a dataset's columns (`?show=columns`)."""
    upload = upload_of(request, pk)
    job = upload.job
    if job and job.kind == uploads.IMPORT and job.is_done:
        return redirect("task", job.result[0]["name"], job.result[0]["version"])
    if dataset_uploads.is_gym(upload):
        return gym_tasks(request, pk=pk)
    shows_columns = request.GET.get("show") == "columns" or not uploads.names(upload)
    if shows_columns and dataset_uploads.path_of(upload):
        return dataset_columns(request, pk=pk)
    return _page(request, upload)


def _page(
    request: ResearcherRequest,
    upload: TaskUpload,
    refused: list[str] | None = None,
    form: CardForm | None = None,
    status: int = 422,
) -> HttpResponse:
    job, check = upload.job, upload_jobs.checked(upload)
    is_check = job is not None and job.kind == uploads.CHECK
    parts = {part["file"]: part for part in upload_jobs.parts(upload) if "file" in part}
    context: dict[str, Any] = {
        "upload": upload, "job": None if job is None or job.is_done else job, "is_check": is_check,
        "may_change": upload_jobs.may_change(upload),
        "files": [{"file": name, **parts.get(name, {})} for name in uploads.names(upload)],
        "problems": upload_jobs.problems(upload), "not_taken": upload.refused, "refused": refused,
        "form": form or CardForm(initial={"card": upload.card_name}),
        "max_bytes": uploads.MAX_BYTES, "dataset": dataset_uploads.path_of(upload),
        "origin": dataset_uploads.origin(upload),
    }  # fmt: skip
    if check:
        card = upload_jobs.card_of(upload)
        stored = Task.objects.filter(name=card.name).order_by("-version")
        context |= {
            "card": card, "warnings": data_report.warnings(check["report"]),
            "counts": data_report.counts(check["report"]),
            "may_rechain": bool(check["report"]["renumbering"]),
            "stored": stored.filter(content_hash=check["hash"]).first(),
            "not_yours": (
                "" if teams.may_change(card.name, upload.owner) else teams.NotInTeam(card.name)
            ),
            "newest": stored.first(), "examples": check["shown"],
        }  # fmt: skip
    template = "library/import_upload.html"
    return render(request, template, context, status=status if refused or form else 200)


@uploads.takes_files(uploads.MAX_BYTES)
@signed_in("POST")
def task_upload_files(request: ResearcherRequest, pk: UUID) -> HttpResponse:
    """Add, replace or remove files, or choose another card. Everything is then checked again."""
    upload = upload_of(request, pk)
    if not upload_jobs.may_change(upload):
        messages.error(request, "The task is being imported; its files can no longer be changed.")
        return go_to(request, url_of(upload))
    if "remove" in request.POST:
        form = RemoveForm(request.POST)
        if not form.is_valid():
            return _page(request, upload, ["This file does not exist."])
        uploads.remove(upload, form.cleaned_data["remove"])
    elif refusal := _add(request, upload):
        return refusal
    upload_jobs.start_check(upload, request.user)
    return go_to(request, url_of(upload))


def _add(request: ResearcherRequest, upload: TaskUpload) -> HttpResponse | None:
    form, files = CardForm(request.POST), request.FILES.getlist("files")
    if not form.is_valid():
        return _page(request, upload, form=form)
    card = form.cleaned_data["card"]
    if not files and card == upload.card_name:
        return _page(request, upload, ["Choose files to add, or another card."], form)
    upload.card_name = card
    try:
        uploads.add(upload, files)
    except disk.DiskFull as error:
        return _page(request, upload, [str(error)], form)
    return None


@signed_in("POST")
def task_upload_run(request: ResearcherRequest, pk: UUID) -> HttpResponse:
    """Run a part of the upload's job, and redirect after the last part."""
    upload = upload_of(request, pk)
    address = url_of(upload)
    reply = poll(request, upload.job, address) if upload.job else go_to(request, address)
    return gym_import.imported(request, upload) or _imported(request, upload) or reply


@signed_in("POST")
def task_upload_confirm(request: ResearcherRequest, pk: UUID) -> HttpResponse:
    """Import the task, immediately if it is small, otherwise in a job that shows progress."""
    upload = upload_of(request, pk)
    if request.POST.get("revision") != str(upload.revision):
        return _page(request, upload, [CHANGED], status=409)
    check = upload_jobs.checked(upload)
    # Content that is already stored does not change anything, regardless of its owner.
    if check and not Task.objects.filter(content_hash=check["hash"]).exists():
        try:
            teams.check(upload_jobs.card_of(upload).name, request.user)
        except teams.NotInTeam as error:
            return _page(request, upload, [str(error)], status=403)
    origin = dataset_uploads.origin(upload)
    # Files that were edited manually no longer match the sample.
    made_from = origin["made_from"] if origin and origin["hash"] == check.get("hash") else None
    destination = request.POST.get("next", "")
    upload_jobs.confirm(upload, request.user, "rechain" in request.POST, made_from, destination)
    return _imported(request, upload) or go_to(request, url_of(upload))


def _imported(request: ResearcherRequest, upload: TaskUpload) -> HttpResponse | None:
    """Delete the upload and redirect if its task was imported; otherwise, return None."""
    job = upload.job
    if job is None or job.kind != uploads.IMPORT or not job.is_done:
        return None
    result = job.result[0]
    uploads.drop(upload)
    outcome = "is imported" if result["created"] else "already existed with identical content"
    messages.success(request, f"{result['name']} v{result['version']} {outcome}.")
    later = TaskUpload.objects.filter(owner=request.user, created_at__gt=upload.created_at)
    waiting = later.last()  # the next of several files
    pages = {
        "study": f"{reverse('study_new')}?task={result['name']}",
        "add": url_of(waiting) if waiting else reverse("task_add"),
    }
    task = reverse("task", args=[result["name"], result["version"]])
    return go_to(request, pages.get(job.parameters.get("then", ""), task))


@signed_in("POST")
def task_upload_discard(request: ResearcherRequest, pk: UUID) -> HttpResponse:
    uploads.drop(upload_of(request, pk))
    messages.success(request, "The upload was discarded; nothing was imported.")
    return redirect("tasks")


@never_cache
@signed_in("GET", "POST")
def task_upload_preview(request: ResearcherRequest, pk: UUID, number: int) -> HttpResponse:
    upload = upload_of(request, pk)
    examples = upload_jobs.checked(upload).get("shown", [])
    if not 1 <= number <= len(examples):
        raise Http404
    example, last = examples[number - 1], number == len(examples)
    of_step = [place for place, item in enumerate(examples, 1) if item["step"] == example["step"]]
    page = TurnPage(
        card=upload_jobs.card_of(upload), example=Example(**{key: example[key] for key in SHOWN}),
        place=Place(
            example["step"],
            number=of_step.index(number) + 1,
            total=len(of_step),
            training_total=sum(item["step"] == Step.TRAINING for item in examples),
        ),
        key=f"preview-{upload.pk}-{upload.revision}-{number}",
        answer_url=_example_address(upload, number),
        continue_url=url_of(upload) if last else _example_address(upload, number + 1),
        shows_examples=True, back_url=url_of(upload),
    )  # fmt: skip
    return show(request, page)


def _example_address(upload: TaskUpload, number: int) -> str:
    return reverse("task_upload_preview", args=[upload.pk, number])
