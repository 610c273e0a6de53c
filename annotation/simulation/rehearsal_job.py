"""Run simulated annotators in a rehearsal as a job, processing one annotator per chunk.

They work as in `simulate_workers`. The browser ID is derived from the job and the number,
so a repeated chunk continues where it stopped. An annotator waiting for a researcher's
decision stops there. After admission, the next job continues it.
"""

import random
from datetime import timedelta
from typing import Any

from django.conf import settings
from django.contrib.auth.models import User
from django.core import signing
from django.urls import reverse
from django.utils import translation

from annotation.models import Decision, Kind, Participation, Status, Study, StudyStatus
from annotation.recruitment.links import COOKIE_SALT
from annotation.simulation.simulated_annotators import (
    InProcess,
    Knowledge,
    SimulationError,
    policy_of,
    walk,
)
from annotation.study import lifecycle
from tasks import jobs
from tasks.clock import database_now
from tasks.models import Job

KIND = "simulate"


class NoRehearsal(Exception):
    """Raised if simulated annotators can't enter this study. The message is shown to users."""


def free_seats(study: Study) -> int:
    seated = Participation.objects.holding_seats(database_now(), study)
    number = seated.filter(kind=Kind.SIMULATED).count()
    return sum(scenario.seats for scenario in study.scenarios.all()) - number


def admitted(study: Study) -> list[Participation]:
    """Return simulated annotators that were admitted after a job left them waiting."""
    walked = {
        pk
        for job in jobs_of(study)
        if job.state in (Job.State.WAITING, Job.State.RUNNING)
        for pk in job.parameters.get("resumed", ())
    }
    working = study.participations.filter(
        kind=Kind.SIMULATED, status=Status.WORKING,
        decisions__about=Decision.About.QUALIFICATION, decisions__outcome=True,
        decisions__by__isnull=False,
    )  # fmt: skip
    return list(working.exclude(pk__in=walked).distinct().order_by("pk"))


def rehearsal_of(study: Study, by: User) -> Study:
    """Clone a study as a rehearsal and open it. Raises DesignError."""
    changes = {"name": lifecycle.free_name(study, "rehearsal"), "rehearsal": True}
    clone = lifecycle.clone(study, by, changes)
    lifecycle.change_status(clone, "open", by)
    return clone


def to_run(study: Study, policy: str, number: int | None) -> tuple[list[Participation], int]:
    """Return admitted annotators and the number of new ones: `number`, or all free seats.

    Raises NoRehearsal, and ValueError for an unknown policy.
    """
    if not study.rehearsal:
        raise NoRehearsal(
            "Simulated annotators can be used in rehearsals only. Clone this study as a rehearsal"
            ' (in the API with {"rehearsal": true}).'
        )
    if study.status != StudyStatus.OPEN:
        raise NoRehearsal(f"The study is {study.status}. Open it first.")
    policy_of(policy, Knowledge(study), random.Random(0))
    free, waited = free_seats(study), admitted(study)
    new = free if number is None else min(number, free)
    if not new and not waited:
        raise NoRehearsal("The study has no free simulated seat and no admitted annotator.")
    return waited, new


def start(study: Study, policy: str, number: int | None, seed: int, by: User) -> Job:
    """Start a job with simulated annotators. Raises like `to_run`.

    Annotators admitted since the last job continue first, with the same policy.
    """
    waited, new = to_run(study, policy, number)
    made_of = {"study": study.pk, "policy": policy, "number": new, "free": free_seats(study)}
    made_of |= {"resumed": [participation.pk for participation in waited]} if waited else {}
    return jobs.start(KIND, made_of, total=len(waited) + new, owner=by, seed=seed)


def jobs_of(study: Study) -> list[Job]:
    return list(Job.objects.filter(kind=KIND, parameters__study=study.pk).order_by("-pk"))


@jobs.job(KIND, limit=timedelta(minutes=10))
def _walk_one(job: Job, number: int) -> dict[str, Any]:
    """Run one annotator to the end, and return {answers}. Raises JobError without a seat."""
    study = Study.objects.get(pk=job.parameters["study"])
    site = InProcess()
    resumed = job.parameters.get("resumed", [])
    if number < len(resumed):
        token = Participation.objects.get(pk=resumed[number]).token
        address = reverse("work", args=[token])
    else:
        name = f"simulate-{job.pk}-{number - len(resumed)}"
        cookie = settings.WORKER_COOKIE_NAME
        signer = signing.get_cookie_signer(salt=cookie + COOKIE_SALT)
        site.client.cookies[cookie] = signer.sign(name)
        address = reverse("landing", args=[study.simulated_link_code])
    seed = f"{job.seed}:{number}"
    try:
        # Pages activate the study's language. This restores English for the thread.
        with translation.override(settings.LANGUAGE_CODE):
            steps = walk(site, address, job.parameters["policy"], Knowledge(study), seed)
            return {"answers": sum(1 for _step in steps)}
    except SimulationError as error:
        raise jobs.JobError(f"Annotator {number + 1} cannot continue: {error}.") from None
