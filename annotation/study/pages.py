"""Pages for designs: the form and the frozen design; cloning, archiving and deleting studies."""

import contextlib
from typing import Any

from django.contrib import messages
from django.contrib.auth.models import User
from django.core.exceptions import ValidationError
from django.db import IntegrityError, transaction
from django.http import HttpResponse, QueryDict
from django.shortcuts import redirect, render

from annotation.models import Scenario, Study
from annotation.study import (
    audience,
    consequences,
    cross_task,
    design,
    design_file,
    lifecycle,
    own_questions,
)
from annotation.study.forms import StudyForm
from annotation.web.access import ResearcherRequest, right_to, signed_in, study_of
from annotation.web.fields import is_shown_again
from annotation.web.posts import StudyPost, study_page
from tasks.columns import shots_text
from tasks.models import Task


@signed_in("GET", "POST")
def study_new(request: ResearcherRequest) -> HttpResponse:
    """Create a draft.

    `?task=NAME` selects the latest version of a task, and `?task=NAME@VERSION` a particular one.
    `?like=NAME` copies the design of a study.
    """
    if like := request.GET.get("like", ""):
        source = study_of(request, like, right_to("study_clone"))
        draft = lifecycle.copied(source, request.user)
        draft.name, draft.rehearsal = "", False
        lists = {name: list(getattr(source, name).all()) for name in design_file.LISTS}
        return _edit(request, draft, request.POST or None, lists, source)
    tasks = []
    if name := request.GET.get("task", ""):
        with contextlib.suppress(design_file.DesignFileError):
            tasks = [design_file.task_named(name)]
    initial = {"tasks": tasks} if tasks else None
    return _edit(request, Study(owner=request.user), request.POST or None, initial)


@signed_in("POST")
def study_edit(request: ResearcherRequest, name: str) -> HttpResponse:
    return _edit(request, study_of(request, name, right_to("study_edit")), request.POST)


FROZEN = (
    "Your changes were not saved: the design was frozen when the study was opened. The form below"
    " contains your input. If no seat has been taken, return the study to draft, then save again."
)


def _edit(
    request: ResearcherRequest,
    study: Study,
    form_data: QueryDict | None,
    initial: dict[str, Any] | None = None,
    source: Study | None = None,
    status: int = 200,
    **extra: Any,
) -> HttpResponse:
    form, name = StudyForm(form_data, instance=study, initial=initial), study.name
    is_new = study.pk is None
    readable = Study.objects.visible_to(request.user, right_to("study_clone"))
    context: dict[str, Any] = {
        "form": form, "is_new": is_new, "has_tasks": Task.objects.exists(),
        "study": None if is_new else study, "draft": study, "source": source,
        "scenarios": [] if is_new else _scenarios(study),
        "sources": readable.filter(archived_at=None).only("name") if is_new else [],
        "left_out": _left_out(source) if source else [], **extra,
    }  # fmt: skip
    calculates = "calculate" in request.POST
    if calculates and request.htmx:
        return render(request, "study/_consequences.html", context)
    status = 422 if form.is_bound else status
    if calculates:
        context["words"] = "Nothing was saved. Correct these errors:"
        status = 200 if form.is_valid() else 422
    elif is_shown_again(request):
        # Input preserved from an ended session is shown again before it is saved.
        status = 200
    elif form.is_bound and form.is_valid():
        try:
            rehearses = "policy" in request.POST  # the other submit button
            page = "rehearsal" if rehearses else "study"
            return redirect(page, form.save().name, preserve_request=rehearses)
        except design.StaleDesign:
            context["overtaken"] = form.overtake(Study.objects.get(pk=study.pk))
            status = 409
        except design.DesignError:
            context["problem"], status = FROZEN, 409
    form.is_valid()  # sets the name that the user typed
    study.name = name
    return render(request, "study/study_edit.html", context, status=status)


def _left_out(source: Study) -> list[str]:
    """Return tasks of the source design that cannot be selected because they are archived."""
    tasks = [*source.tasks.order_by("name"), *cross_task.trained_first(source)]
    return [str(task) for task in tasks if task.archived_at]


def _page(request: ResearcherRequest, study: Study, status: int = 200, **more: Any) -> HttpResponse:
    """Show the design or, for owners of a draft, the form."""
    if study.is_draft and "own" in study.rights:
        return _edit(request, study, None, status=status, **more)
    tasks = list(study.tasks.with_reports().order_by("name"))
    context = {
        "study": study, "tasks": sorted(tasks, key=lambda task: task.place),
        "warnings": consequences.design_warnings(study, tasks),
        "minutes": _minutes(study), "own_questions": own_questions.parse(study.own_questions),
        "restrictions": consequences.restrictions(study),
        "audience": audience.as_rows(study.audience), "arms": cross_task.training(study),
        "scenarios": _scenarios(study), **more,
    }  # fmt: skip
    return render(request, "study/study_design.html", context, status=status)


study_design = study_page(_page)


def _scenarios(study: Study) -> list[Scenario]:
    return sorted(study.scenarios.select_related("task"), key=lambda row: row.task.place)


def _minutes(study: Study) -> list[str]:
    """Return the announced minutes as text, for all scenarios or by task and shot count."""
    promised = {(s.task.name, s.shots): s.estimated_minutes for s in _scenarios(study)}
    if len(set(promised.values())) == 1:
        return [f"{next(iter(promised.values()))} minutes"]
    return [
        f"{task}, {shots_text(shots)}: {number} minutes"
        for (task, shots), number in promised.items()
    ]


@signed_in("POST")
def clone(request: ResearcherRequest, name: str) -> HttpResponse:
    """Create a draft with the same design. If no name is given, an unused one is chosen."""
    source = study_of(request, name, right_to("study_clone"))
    typed = request.POST.get("name", "").strip()
    new_name = typed or lifecycle.free_name(source, "copy")
    try:
        with transaction.atomic():
            copy = lifecycle.clone(source, request.user, {"name": new_name})
    except ValidationError as error:
        problem = " ".join(error.messages)
    except IntegrityError:
        problem = f"The name {new_name} has just been taken. Choose another name."
    else:
        messages.success(
            request, f"This draft has the design of {source.name}. Change it, then open it."
        )
        return redirect("study", copy.name)
    return _page(request, source, 422, problem=problem, typed=typed)


class ChangeStatus(StudyPost):
    row = "study_status"
    summary = "Open, pause, reopen or close a study, or return it to draft"
    conflicts = (design.DesignError,)
    shows_message = True

    def do(self, study: Study, data: dict[str, Any], by: User) -> str:
        lifecycle.change_status(study, data.get("action", ""), by, data.get("agreed", ""))
        return f"The study is now {study.status}."


class Archive(StudyPost):
    """Hide a study from the list of studies; /unarchive/ reverses this."""

    row, path = "study_archive", "archive/"
    summary = "Hide a study from the list of studies"
    is_archived = True

    def do(self, study: Study, data: dict[str, Any], by: User) -> str:
        lifecycle.set_archived(study, self.is_archived, by)
        return f"{study.name} is {'archived' if self.is_archived else 'in the list again'}."


class Unarchive(Archive):
    """Reverse /archive/."""

    row, path = "study_unarchive", "unarchive/"
    summary = "Show an archived study in the list of studies again"
    is_archived = False


class Delete(StudyPost):
    row = "study_delete"
    summary = "Delete a draft without participants"
    conflicts = (design.DesignError,)
    conflict_status = 422
    success = 204
    shows_message = True

    def do(self, study: Study, data: dict[str, Any], by: User) -> str:
        lifecycle.delete_draft(study)
        return f"The draft {study.name} was deleted."
