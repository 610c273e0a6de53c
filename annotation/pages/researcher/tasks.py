"""Pages of tasks: the list, one task with its data report, its team and attention checks."""

from functools import partial

from django.contrib.auth.decorators import login_required
from django.db.models import Count
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_GET, require_POST

from annotation.access import ResearcherRequest
from annotation.pages.fields import PageForm, by_key
from annotation.pages.researcher.forms.tasks import MAX_CHECKS, ChecksForm
from annotation.pages.researcher.forms.team import TaskMemberForm
from annotation.steps import attention_checks
from tasks import checking, data_report, listing, teams, uploads
from tasks.columns import Column
from tasks.formats import FormatError
from tasks.models import Split, Task, TaskMember


@login_required
@require_GET
def tasks(request: ResearcherRequest) -> HttpResponse:
    """The newest version of each task."""
    rows = list(Task.objects.latest_versions().select_related("imported_by"))
    shown = listing.listing(request.GET, rows, COLUMNS, _text, _families(rows))
    if listing.wants_csv(request.GET):
        return shown.as_csv("tasks.csv")
    return render(request, "researcher/tasks.html", {"listing": shown if rows else None})


# Of the list of tasks.
COLUMNS = [
    Column("task", "Task", get=str),
    Column("title", "Title", get=lambda task: task.card.title),
    Column("family", "Family", get=lambda task: task.card.family.replace("_", " ")),
    Column("answered_by", "Answered by", get=lambda task: task.card.answered_by),
    Column("metric", "Metric", get=lambda task: task.card.metric),
    Column("language", "Language", get=lambda task: task.card.language),
    Column("imported_at", "Imported (UTC)", show=lambda at: f"{at:%Y-%m-%d}"),
    Column("owner", "Owner", get=lambda task: str(task.imported_by or "")),
]


def _text(task: Task) -> str:
    """What a search of the list looks through."""
    card = task.card
    return f"{task} {card.title} {card.description} {card.family} {card.source} {card.language}"


def _families(tasks: list[Task]) -> listing.Filters[Task]:
    """The families that there are, as choices of the list."""
    families = sorted({task.card.family for task in tasks})
    return {name: (name.replace("_", " ").capitalize(), partial(_is_of, name)) for name in families}


def _is_of(family: str, task: Task) -> bool:
    return task.card.family == family


@login_required
@require_GET
def task(request: ResearcherRequest, name: str, version: int) -> HttpResponse:
    """A task's card, splits and data report."""
    return _task_page(request, get_object_or_404(Task, name=name, version=version))


def _task_page(
    request: ResearcherRequest,
    its: Task,
    sent: PageForm | None = None,
    problem: str = "",
    status: int = 422,
) -> HttpResponse:
    context = {
        "task": its,
        "sent": sent,
        "problem": problem,
        "splits": its.splits.annotate(size=Count("examples")),
        "report_lines": data_report.lines(its.report),
        "has_checks": its.splits.filter(kind=Split.Kind.CHECK).exists(),
        "versions": Task.objects.filter(name=its.name).exclude(pk=its.pk),
        "owner": teams.owner(its.name),
        "members": TaskMember.objects.filter(task_name=its.name).select_related("user"),
        "may_change": teams.may_change(its.name, request.user),
    }
    context |= by_key(TaskMemberForm(), ChecksForm(), sent=sent)
    status = status if sent or problem else 200
    return render(request, "researcher/task.html", context, status=status)


@login_required
@require_POST
def task_team(request: ResearcherRequest, name: str, version: int) -> HttpResponse:
    """Add somebody to the team of a task."""
    its = get_object_or_404(Task, name=name, version=version)
    form = TaskMemberForm(request.POST)
    if not form.is_valid():
        return _task_page(request, its, form)
    try:
        teams.add(its.name, form.cleaned_data["username"], request.user)
    except teams.NotInTeam as error:
        return _task_page(request, its, problem=str(error), status=403)
    except teams.TeamError as error:
        form.add_error("username", str(error))
        return _task_page(request, its, form)
    return redirect("task", name, version)


@uploads.takes_files(10 * MAX_CHECKS)  # one that is a little too large gets its error
@login_required
@require_POST
def task_checks(request: ResearcherRequest, name: str, version: int) -> HttpResponse:
    """Attach a file of attention checks to a task."""
    its = get_object_or_404(Task, name=name, version=version)
    if not teams.may_change(name, request.user):
        return _task_page(request, its, problem=str(teams.NotInTeam(name)), status=403)
    form = ChecksForm(request.POST, request.FILES)
    if not form.is_valid():
        return _task_page(request, its, form)
    file = form.cleaned_data["checks"]
    try:
        attention_checks.import_upload(its, file.name, file.read())
    except FormatError as error:
        form.add_error("checks", str(error))
        return _task_page(request, its, form)
    except checking.Busy as error:
        form.add_error("checks", str(error))
        return _task_page(request, its, form, status=503)
    return redirect("task", name, version)
