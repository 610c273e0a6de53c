"""Pages of tasks: the list, one task with its data report, its team and attention checks."""

import tempfile
from pathlib import Path

from django.contrib.auth.decorators import login_required
from django.db.models import Count
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.text import get_valid_filename
from django.views.decorators.http import require_GET, require_POST

from annotation.steps import attention_checks
from tasks import checking, data_report, teams, uploads
from tasks.formats import FormatError
from tasks.models import Split, Task, TaskMember

LARGEST_CHECKS = 1_000_000  # bytes
LONGEST_NAME = 200  # bytes; file systems take 255


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
