"""Importing from the Few-shot Gym: choose tasks and answer types, then run a job."""

import secrets
from typing import Any
from uuid import UUID

from django import forms
from django.contrib import messages
from django.http import Http404, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.cache import never_cache

from annotation.web.access import ResearcherRequest, signed_in, upload_of
from annotation.web.fields import PageForm, WholeNumberField
from tasks import dataset_uploads, jobs, uploads
from tasks.gym.making import Sample
from tasks.jobs import go_to
from tasks.models import TaskUpload


class GymTasksForm(PageForm):
    key = "tasks"
    test = WholeNumberField(
        label="Test examples per task", min_value=1, max_value=100_000, required=False,
        help_text="Leave blank for all. Otherwise, a simple random sample is drawn, on which"
        " models are scored too.",
    )  # fmt: skip
    seed = WholeNumberField(
        label="Sampling seed", min_value=0, max_value=2**63 - 1,
        help_text="The same files and seed always give the same sample.",
    )  # fmt: skip

    def __init__(self, tasks: list[dict[str, Any]], *args: Any, **kwargs: Any):
        super().__init__(*args, initial={"seed": secrets.randbelow(2**31)}, **kwargs)
        self.tasks = tasks
        for task in tasks:
            # If the inferred type cannot be imported, the first choice says so.
            choices = [(kind, kind) for kind in task["possible"]]
            can_import = task["kind"] in task["possible"]
            if not can_import:
                choices = [("", f"{task['kind']}: cannot be imported"), *choices]
            self.fields[f"take-{task['name']}"] = forms.BooleanField(
                label="Import", required=False, initial=can_import
            )
            self.fields[f"kind-{task['name']}"] = forms.ChoiceField(
                label=f"Answer type for {task['name']}", choices=choices, required=False,
                initial=task["kind"] if can_import else "",
            )  # fmt: skip

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or self.cleaned_data
        if not self.errors:
            names = [task["name"] for task in self.tasks if cleaned[f"take-{task['name']}"]]
            cleaned["kinds"] = {name: cleaned[f"kind-{name}"] for name in names}
            if not names:
                raise forms.ValidationError("Choose at least one task.")
            for name, kind in cleaned["kinds"].items():
                if not kind:
                    self.add_error(f"kind-{name}", f"{name}: choose an answer type.")
        return cleaned

    @property
    def sample(self) -> Sample | None:
        size = self.cleaned_data["test"]
        return Sample(size, self.cleaned_data["seed"]) if size else None

    @property
    def rows(self) -> list[tuple[dict[str, Any], forms.BoundField, forms.BoundField]]:
        return [(t, self[f"take-{t['name']}"], self[f"kind-{t['name']}"]) for t in self.tasks]


@never_cache
@signed_in("GET", "POST")
def gym_tasks(request: ResearcherRequest, pk: UUID) -> HttpResponse:
    """Show the tasks and their reports on GET, and start importing the chosen ones on POST."""
    upload = upload_of(request, pk)
    if not dataset_uploads.is_gym(upload):
        raise Http404
    if upload.job and upload.job.is_done:
        return redirect("tasks")
    contents = dataset_uploads.inspection(upload)
    form = GymTasksForm(contents["tasks"], request.POST if request.method == "POST" else None)
    running = upload.job if upload.job and not upload.job.has_failed else None
    if form.is_bound and running is None and form.is_valid():
        try:
            dataset_uploads.confirm_gym(
                upload, form.cleaned_data["kinds"], form.sample, request.user
            )
        except uploads.UploadError as error:
            form.add_error(None, error.problems)
        else:
            if upload.job:
                jobs.advance(upload.job)
            return imported(request, upload) or go_to(request, url_of(upload))
    context = {"form": form, "upload": upload, "shared": contents["shared"], "job": upload.job}
    status = 422 if form.is_bound and running is None else 200
    return render(request, "library/gym_tasks.html", context, status=status)


def url_of(upload: TaskUpload) -> str:
    return reverse("task_upload", args=[upload.pk])


def imported(request: ResearcherRequest, upload: TaskUpload) -> HttpResponse | None:
    """Delete the upload and redirect if its tasks were imported; otherwise return None."""
    job = upload.job
    if job is None or job.kind != uploads.IMPORT_GYM or not job.is_done:
        return None
    new = sum(part["created"] for part in job.result)
    duplicates = len(job.result) - new
    uploads.drop(upload)
    messages.success(
        request,
        f"{new} task{'' if new == 1 else 's'} imported"
        + (f", {duplicates} already existed with identical content." if duplicates else "."),
    )
    return go_to(request, reverse("tasks"))
