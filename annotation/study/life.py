"""Cloning, archiving, deleting and rehearsing studies."""

from typing import Any

from django import forms
from django.contrib import messages
from django.core.exceptions import ValidationError
from django.db import IntegrityError, transaction
from django.http import Http404, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse

from annotation.models import Kind, Status, Study
from annotation.simulation import rehearsal_job
from annotation.simulation.robots import POLICIES
from annotation.study import design, lifecycle
from annotation.study.pages import design_page
from annotation.web.access import ResearcherRequest, job_of, signed_in, study_of
from annotation.web.fields import PageForm, WholeNumberField, is_shown_again
from annotation.web.rights import right_to
from tasks.polling import poll


class CloneForm(PageForm):
    """The name of the clone; if empty, a free name is chosen."""

    key = "clone"
    name = forms.CharField(
        required=False,
        max_length=60,
        help_text=Study._meta.get_field("name").help_text,
    )
    rehearsal = forms.BooleanField(required=False)


class RobotsForm(PageForm):
    """Answer policy, number and random seed of simulated annotators."""

    key = "robots"
    policy = forms.CharField(
        max_length=40,
        initial="noisy:0.8",
        help_text=f"One of {', '.join(POLICIES)}; noisy:0.8 is right with probability 0.8.",
    )
    number = WholeNumberField(
        required=False,
        min_value=0,
        max_value=1000,
        label="How many",
        help_text="Empty: as many as there are free seats; 0: those alone who were admitted.",
    )
    seed = WholeNumberField(
        required=False,
        min_value=0,
        max_value=2**53,
        initial=0,
        help_text="The same seed gives the same answers.",
    )


@signed_in("POST")
def clone(request: ResearcherRequest, name: str) -> HttpResponse:
    """Create a draft with the same design; the other button makes it a rehearsal.

    Without a name a free one is chosen.
    """
    source = study_of(request, name, right_to("study_clone"))
    form = CloneForm(request.POST)
    problem = ""
    if form.is_valid():
        is_rehearsal = form.cleaned_data["rehearsal"] or source.rehearsal
        ending = "rehearsal" if form.cleaned_data["rehearsal"] else "copy"
        wanted = form.cleaned_data["name"] or lifecycle.free_name(source, ending)
        try:
            with transaction.atomic():
                changes = {"name": wanted, "rehearsal": is_rehearsal}
                made = lifecycle.clone(source, request.user, changes)
        except ValidationError as error:
            problem = " ".join(error.messages)
        except IntegrityError:
            problem = f"Somebody has just taken the name {wanted}: choose another one."
        else:
            messages.success(
                request, f"A draft with the design of {source.name}: change it, then open it."
            )
            return redirect("study", made.name)
    else:
        problem = " ".join(str(error) for errors in form.errors.values() for error in errors)
    return _design(request, source, problem)


def _design(request: ResearcherRequest, study: Study, problem: str) -> HttpResponse:
    """Render the design page, which has these buttons, with an error."""
    context = design_page(study) | {"problem": problem, "typed": request.POST.get("name", "")}
    return render(request, "study/study_design.html", context, status=422)


@signed_in("POST")
def archive(request: ResearcherRequest, name: str, is_archived: bool) -> HttpResponse:
    """Archive a study or restore it."""
    page = "study_archive" if is_archived else "study_unarchive"
    study = study_of(request, name, right_to(page))
    lifecycle.set_archived(study, is_archived, request.user)
    return redirect("study_design", study.name)


@signed_in("POST")
def delete(request: ResearcherRequest, name: str) -> HttpResponse:
    """Delete a draft without participants."""
    study = study_of(request, name, right_to("study_delete"))
    try:
        lifecycle.delete_draft(study)
    except design.DesignError as error:
        return _design(request, study, str(error))
    messages.success(request, f"The draft {name} is deleted.")
    return redirect("studies")


@signed_in("GET", "POST")
def robots(request: ResearcherRequest, name: str) -> HttpResponse:
    """Start simulated annotators in a rehearsal, and show their progress."""
    study = study_of(request, name, right_to("robots"))
    sent_before = rehearsal_job.jobs_of(study)
    first = {"policy": sent_before[0].parameters["policy"]} if sent_before else {}
    form = RobotsForm(request.POST or None, initial=first)
    if request.method == "POST" and not is_shown_again(request) and form.is_valid():
        sent = form.cleaned_data
        try:
            rehearsal_job.start(
                study, sent["policy"], sent["number"], sent["seed"] or 0, request.user
            )
            return redirect("robots", study.name)
        except rehearsal_job.NoRehearsal as error:
            form.add_error(None, str(error))
        except ValueError as error:
            form.add_error("policy", str(error))
    status = 422 if form.is_bound and form.errors else 200
    context: dict[str, Any] = {
        "study": study, "form": form, "free": rehearsal_job.free_seats(study),
        "jobs": sent_before, "admitted": rehearsal_job.admitted(study),
        "waiting": study.participations.filter(kind=Kind.SIMULATED, status=Status.WAITING).count(),
    }  # fmt: skip
    return render(request, "simulation/robots.html", context, status=status)


@signed_in("POST")
def robots_run(request: ResearcherRequest, name: str, pk: int) -> HttpResponse:
    """Run the next simulated annotator of that job."""
    study = study_of(request, name, right_to("robots_run"))
    job = job_of(request, pk)
    if job.kind != rehearsal_job.KIND or job.parameters["study"] != study.pk:
        raise Http404
    return poll(request, job, reverse("robots", args=[study.name]))
