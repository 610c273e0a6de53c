"""The page and API view for running simulated annotators in a rehearsal."""

from typing import Any

from django import forms
from django.contrib.auth.models import User
from django.db import transaction
from django.http import Http404, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from annotation.models import Kind, Status, Study
from annotation.simulation import simulated_annotators
from annotation.simulation.policies import POLICIES
from annotation.study.design import DesignError
from annotation.web import form_bodies, jobs
from annotation.web.access import ResearcherRequest, job_of, signed_in, study_of
from annotation.web.fields import PageForm, WholeNumberField, is_shown_again
from annotation.web.problems import Conflict, Unprocessable
from annotation.web.rights import right_to
from annotation.web.views import ApiView
from tasks.jobs import go_to, poll
from tasks.models import Job


class SimulationForm(PageForm):
    key = "rehearsal"
    policy = forms.CharField(
        required=False,
        max_length=100,
        initial="noisy:0.8",
        empty_value="noisy:0.8",
        help_text=f"One of {', '.join(POLICIES)}; noisy:0.8 is right with probability 0.8."
        " If confidence is asked, +confidence:1 after it means one point too sure.",
    )
    number = WholeNumberField(
        required=False,
        min_value=0,
        max_value=1000,
        label="How many",
        help_text="Leave empty for all free seats. 0: only admitted annotators continue.",
    )
    seed = WholeNumberField(
        required=False,
        min_value=0,
        max_value=2**53,
        initial=0,
        help_text="The same seed gives the same answers.",
    )

    def start(self, study: Study, by: User) -> Job:
        """Start the job. Raises NoRehearsal, and ValueError for an unknown policy."""
        return simulated_annotators.start(study, by, **self.cleaned_data)


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
                form.start(study, request.user)
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


class Simulate(ApiView):
    """Run simulated annotators; rehearsals only."""

    @extend_schema(
        request=form_bodies.shape("SimulateBody", form_bodies.fields_of(SimulationForm)),
        responses={202: jobs.JobShape},
        summary="Start a job with simulated annotators in a rehearsal",
    )
    def post(self, request: Request, name: str) -> Response:
        study = study_of(request, name, right_to("rehearsal"))
        body = form_bodies.as_object(request.data)
        form_bodies.check_known(body, SimulationForm.base_fields)
        form = SimulationForm(form_bodies.as_form_data(body))
        form_bodies.check(form)
        try:
            job = form.start(study, request.user)
        except simulated_annotators.NoRehearsal as error:
            raise Conflict(str(error)) from None
        except ValueError as error:
            raise Unprocessable({"policy": [str(error)]}) from None
        return Response(jobs.as_record(job), status=202)
