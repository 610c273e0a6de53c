"""The researcher's pages: studies, their design and status, tasks and their data reports."""

import tempfile
from pathlib import Path

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.paginator import Paginator
from django.db import connection
from django.db.models import Count
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils.text import get_valid_filename
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from annotation import guards
from annotation.access import study_of
from annotation.models import Study
from annotation.money import budget
from annotation.monitoring import progress
from annotation.pages.researcher.forms import StudyForm
from annotation.steps import attention_checks
from annotation.study import design
from tasks import checking, data_report, teams, uploads
from tasks.formats import FormatError
from tasks.models import Split, Task, TaskMember

LARGEST_CHECKS = 1_000_000  # bytes
LONGEST_NAME = 200  # bytes; file systems take 255


@require_GET
def home(request: HttpRequest) -> HttpResponse:
    return render(request, "home.html")


@login_required
@require_GET
def studies(request: HttpRequest) -> HttpResponse:
    """The studies of this researcher, each with what may need them now."""
    context = {
        "studies": progress.of_studies(Study.objects.of(request.user)),
        "has_tasks": Task.objects.exists(),
        "missing_guards": guards.missing(connection),
    }
    return render(request, "researcher/studies.html", context)


@login_required
@require_http_methods(["GET", "POST"])
def study_new(request: HttpRequest) -> HttpResponse:
    return _edit(request, Study(owner=request.user))


@login_required
@require_http_methods(["GET", "POST"])
def study_edit(request: HttpRequest, name: str) -> HttpResponse:
    """Change a draft; a frozen design says so instead."""
    study = study_of(request, name, "own")
    if not study.is_draft:
        return render(request, "researcher/frozen.html", {"study": study}, status=409)
    return _edit(request, study)


def _edit(request: HttpRequest, study: Study) -> HttpResponse:
    form = StudyForm(request.POST or None, instance=study)
    context = {"form": form, "is_new": study.pk is None, "has_tasks": Task.objects.exists()}
    status = 422 if form.is_bound else 200
    if "show_again" in request.POST:
        # What was sent after the session had ended: to be looked at first.
        status = 200
    elif form.is_bound and form.is_valid():
        try:
            return redirect("study", form.save().name)
        except design.StaleDesign:
            context["overtaken"] = form.overtake(Study.objects.get(pk=study.pk))
            status = 409
        except design.DesignError:
            return render(request, "researcher/frozen.html", {"study": study}, status=409)
    return render(request, "researcher/study_edit.html", context, status=status)


@login_required
@require_GET
def study(request: HttpRequest, name: str) -> HttpResponse:
    """One study: status, link, seats of each scenario, who took part."""
    one = study_of(request, name, "see")
    return render(request, "researcher/study.html", study_page(request, one))


def study_page(request: HttpRequest, one: Study) -> dict:
    """What the page of a study shows, in a fixed number of queries."""
    participations = (
        one.participations.select_related("scenario__task")
        .defer("training_order", "annotation_order", "checks", "scenario__task__report")
        .order_by("-arrived_at", "-pk")
    )
    page = Paginator(participations, progress.PER_PAGE).get_page(request.GET.get("page"))
    return {
        "study": one,
        "actions": design.allowed_actions(one),
        "missing": design.missing(one) if one.is_draft else [],
        "notice": budget.notice(one),
        "link": request.build_absolute_uri(reverse("landing", args=[one.link_code])),
        "progress": progress.of_study(one),
        "page": page,
        "participations": progress.participation_rows(one, list(page)),
    }


@login_required
@require_GET
def study_progress(request: HttpRequest, name: str) -> HttpResponse:
    """What the study's page asks for every few seconds: 204 while nothing has changed."""
    one = study_of(request, name, "see")
    if not request.htmx:
        return redirect("study", one.name)
    found = progress.of_study(one)
    if found.version == request.GET.get("seen"):
        return HttpResponse(status=204)
    context = {"study": one, "progress": found}
    return render(request, "researcher/_progress.html", context)


@login_required
@require_POST
def study_status(request: HttpRequest, name: str) -> HttpResponse:
    """Open, pause, reopen, close, back to draft."""
    one = study_of(request, name, "own")
    try:
        design.change_status(one, request.POST.get("action", ""), request.user)
    except design.DesignError as error:
        context = study_page(request, one) | {"problem": str(error)}
        return render(request, "researcher/study.html", context, status=409)
    messages.success(request, f"The study is {one.status} now.")
    return redirect("study", one.name)


@login_required
@require_GET
def tasks(request: HttpRequest) -> HttpResponse:
    return render(request, "researcher/tasks.html", {"tasks": Task.objects.latest_versions()})


@login_required
@require_GET
def task(request: HttpRequest, name: str, version: int) -> HttpResponse:
    """A task's card, splits and data report."""
    return _task_page(request, get_object_or_404(Task, name=name, version=version))


def _task_page(
    request: HttpRequest, one: Task, problem: str = "", team_problem: str = "", status: int = 200
) -> HttpResponse:
    context = {
        "task": one,
        "splits": one.splits.annotate(size=Count("examples")),
        "report_lines": data_report.lines(one.report),
        "has_checks": one.splits.filter(kind=Split.Kind.CHECK).exists(),
        "versions": Task.objects.filter(name=one.name).exclude(pk=one.pk),
        "owner": teams.owner(one.name),
        "members": TaskMember.objects.filter(task_name=one.name).select_related("user"),
        "may_change": teams.may_change(one.name, request.user),
        "problem": problem,
        "team_problem": team_problem,
    }
    return render(request, "researcher/task.html", context, status=status)


@login_required
@require_POST
def task_team(request: HttpRequest, name: str, version: int) -> HttpResponse:
    """Take somebody into the team of a task."""
    one = get_object_or_404(Task, name=name, version=version)
    try:
        teams.add(one.name, request.POST.get("username", ""), request.user)
    except teams.NotInTeam as error:
        return _task_page(request, one, team_problem=str(error), status=403)
    except teams.TeamError as error:
        return _task_page(request, one, team_problem=str(error), status=422)
    return redirect("task", name, version)


@uploads.takes_files(10 * LARGEST_CHECKS)  # what is a little too large is told at its field
@login_required
@require_POST
def task_checks(request: HttpRequest, name: str, version: int) -> HttpResponse:
    """Attach a file of attention checks to a task."""
    one = get_object_or_404(Task, name=name, version=version)
    if not teams.may_change(name, request.user):
        return _task_page(request, one, problem=str(teams.NotInTeam(name)), status=403)
    sent = request.FILES.get("checks")
    if sent is None or sent.size > LARGEST_CHECKS:
        return _task_page(request, one, problem="Choose a file of at most 1 MB.", status=422)
    filename = get_valid_filename(sent.name)
    if len(filename.encode()) > LONGEST_NAME:
        problem = f"The name of the file is longer than {LONGEST_NAME} bytes."
        return _task_page(request, one, problem=problem, status=422)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / filename
        path.write_bytes(sent.read())
        try:
            attention_checks.import_checks(one, path)
        except FormatError as error:
            return _task_page(request, one, problem=str(error), status=422)
        except checking.Busy as error:
            return _task_page(request, one, problem=str(error), status=503)
    return redirect("task", name, version)
