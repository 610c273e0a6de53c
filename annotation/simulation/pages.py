"""The page and API view for running simulated annotators in a rehearsal."""

from typing import Any, ClassVar

from django import forms
from django.contrib.auth.models import User
from django.db import transaction
from django.http import Http404, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse

from annotation.models import Kind, Status, Study
from annotation.simulation import simulated_annotators
from annotation.simulation.policies import POLICIES
from annotation.study.design import DesignError
from annotation.web import jobs
from annotation.web.access import ResearcherRequest, job_of, right_to, signed_in, study_of
from annotation.web.fields import PageForm, WholeNumberField, is_shown_again
from annotation.web.posts import StudyPost
from annotation.web.views import Twin
from tasks.jobs import go_to, poll
from tasks.models import Job


class SimulationForm(PageForm):
    key = "rehearsal"
    policy = forms.CharField(
        required=False,
        max_length=100,
        initial="noisy:0.8",
        empty_value="noisy:0.8",
        help_text=f"One of {', '.join(POLICIES)}; noisy:0.8 is correct with probability 0.8. If"
        " annotators are asked for their confidence, +confidence:1 makes them one point too sure.",
    )
    number = WholeNumberField(
        required=False,
        min_value=0,
        max_value=1000,
        label="How many",
        help_text="Leave blank to fill all free seats. With 0, only admitted annotators continue.",
    )
    seed = WholeNumberField(
        required=False,
        min_value=0,
        max_value=2**53,
        initial=0,
        help_text="The same seed gives the same answers.",
    )


class Simulation(StudyPost):
    row = "rehearsal"
    form_class = SimulationForm
    summary = "Let simulated annotators take part in a rehearsal"
    success = 202
    faults: ClassVar = {ValueError: "policy"}
    conflicts = (simulated_annotators.NoRehearsal,)

    def do(self, study: Study, data: dict[str, Any], by: User) -> Job:
        return simulated_annotators.start(study, by, **data)


@signed_in("GET", "POST")
def rehearse(request: ResearcherRequest, name: str) -> HttpResponse:
    study = study_of(request, name, right_to("rehearsal"))
    earlier = simulated_annotators.jobs_of(study)
    first = {"policy": earlier[0].parameters["policy"]} if earlier else {}
    form = SimulationForm(request.POST or None, initial=first)
    if request.method == "POST" and not is_shown_again(request) and form.is_valid():
        try:
            with transaction.atomic():  # no rehearsal without any annotators
                if not study.rehearsal:
                    study = simulated_annotators.rehearsal_of(study, request.user)
                simulated_annotators.start(study, request.user, **form.cleaned_data)
            return redirect("rehearsal", study.name)
        except (simulated_annotators.NoRehearsal, DesignError) as error:
            form.add_error(None, str(error))
        except ValueError as error:
            form.add_error("policy", str(error))
    status = 422 if form.is_bound and form.errors else 200
    context: dict[str, Any] = {
        "study": study, "form": form, "free": simulated_annotators.free_seats(study),
        "jobs": earlier, "admitted": simulated_annotators.admitted(study),
        "waiting": study.participations.filter(kind=Kind.SIMULATED, status=Status.WAITING).count(),
    }  # fmt: skip
    return render(request, "simulation/simulated_annotators.html", context, status=status)


@signed_in("POST")
def simulation_run(request: ResearcherRequest, name: str, pk: int) -> HttpResponse:
    study = study_of(request, name, right_to("rehearsal_run"))
    job = job_of(request, pk)
    if job.kind != simulated_annotators.KIND or job.parameters["study"] != study.pk:
        raise Http404
    reply = poll(request, job, reverse("rehearsal", args=[study.name]))
    waits = study.participations.filter(kind=Kind.SIMULATED, status=Status.WAITING).exists()
    results = reverse("human_performance", args=[study.name])
    return go_to(request, results) if job.is_done and not waits else reply


class Simulate(Twin):
    """Run simulated annotators; rehearsals only."""

    step = Simulation
    reply = jobs.JobShape

    def payload(self, study: Study, result: Job) -> Any:
        return jobs.as_record(result)
