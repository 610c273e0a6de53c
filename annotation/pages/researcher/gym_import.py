"""Import from the Few-shot Gym: files, then how each task is answered, then the import as a job."""

from uuid import UUID

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST

from annotation.access import ResearcherRequest, upload_of
from annotation.pages.researcher.forms.gym import GymForm, GymTasksForm
from tasks import gym_uploads, jobs, uploads
from tasks.models import TaskUpload
from tasks.polling import go_to, poll


@uploads.takes_files(uploads.MAX_BYTES, gym_uploads.MAX_FILES)
@never_cache
@login_required
@require_http_methods(["GET", "POST"])
def gym_import(request: ResearcherRequest) -> HttpResponse:
    """GET shows the form; POST stores the files, reads them and goes on to the tasks."""
    form = GymForm(request.POST, request.FILES) if request.method == "POST" else GymForm()
    if form.is_bound:
        uploads.drop_old()
        if form.is_valid():
            try:
                partition = form.cleaned_data["partition"]
                upload = gym_uploads.begin(form.sent, request.user, partition)
            except gym_uploads.GymRefused as error:
                form.add_error(None, error.problems)
            else:
                return redirect("gym_tasks", upload.pk)
    status = 422 if form.is_bound else 200
    return render(request, "researcher/gym.html", {"form": form}, status=status)


@never_cache
@login_required
@require_http_methods(["GET", "POST"])
def gym_tasks(request: ResearcherRequest, pk: UUID) -> HttpResponse:
    """GET shows the tasks with their reports; POST begins to import those that are chosen."""
    upload = _upload(request, pk)
    if upload.job and upload.job.is_done:
        return redirect("tasks")
    seen = gym_uploads.seen(upload)
    form = GymTasksForm(seen["tasks"], request.POST if request.method == "POST" else None)
    running = upload.job if upload.job and not upload.job.has_failed else None
    if form.is_bound and running is None and form.is_valid():
        try:
            gym_uploads.confirm(upload, form.cleaned_data["kinds"], form.sample, request.user)
        except gym_uploads.GymRefused as error:
            form.add_error(None, error.problems)
        else:
            if upload.job:
                jobs.advance(upload.job)
            return _imported(request, upload) or go_to(request, _address(upload))
    context = {"form": form, "upload": upload, "shared": seen["shared"], "job": upload.job}
    status = 422 if form.is_bound and running is None else 200
    return render(request, "researcher/gym_tasks.html", context, status=status)


@login_required
@require_POST
def gym_run(request: ResearcherRequest, pk: UUID) -> HttpResponse:
    """A part of the import; after the last the tasks are there."""
    upload = _upload(request, pk)
    if upload.job is None:
        return go_to(request, _address(upload))
    reply = poll(request, upload.job, _address(upload))
    return _imported(request, upload) or reply


def _upload(request: ResearcherRequest, pk: UUID) -> TaskUpload:
    upload = upload_of(request, pk)
    if not gym_uploads.is_gym(upload):
        raise Http404
    return upload


def _address(upload: TaskUpload) -> str:
    return reverse("gym_tasks", args=[upload.pk])


def _imported(request: ResearcherRequest, upload: TaskUpload) -> HttpResponse | None:
    """The way to the tasks, if all of them are imported by now; the upload is done with then."""
    job = upload.job
    if job is None or not job.is_done:
        return None
    new = sum(part["created"] for part in job.result)
    same = len(job.result) - new
    uploads.drop(upload)
    messages.success(
        request,
        f"{new} task{'' if new == 1 else 's'} imported"
        + (f", {same} already existed with identical content." if same else "."),
    )
    return go_to(request, reverse("tasks"))
