"""Simulated annotators as a job: one a chunk, in a study that its design calls a rehearsal.

Each walks the pages as `simulate_workers` lets them, with a browser that its job and number name:
a chunk that is run again goes on where the first one stopped.
"""

import random
from datetime import timedelta
from typing import Any

from django.conf import settings
from django.contrib.auth.models import User
from django.core import signing
from django.urls import reverse

from annotation.access import in_study_language
from annotation.models import Kind, Participation, Study, StudyStatus
from annotation.platforms.links import COOKIE_SALT
from annotation.simulation.robots import InProcess, Knowledge, RobotError, policy_of, walk
from tasks import jobs
from tasks.clock import database_now
from tasks.models import Job

KIND = "simulate"


class NoRehearsal(Exception):
    """Why nobody is sent into this study; the text is for people."""


def free_seats(study: Study) -> int:
    """How many participations the simulated seats still have room for."""
    held = Participation.objects.holding_seats(database_now(), study)
    taken = held.filter(kind=Kind.SIMULATED).count()
    return sum(scenario.seats for scenario in study.scenarios.all()) - taken


def start(study: Study, policy: str, number: int | None, seed: int, by: User) -> Job:
    """The job that sends so many simulated annotators into the study, or into all free seats.

    Raises NoRehearsal, and ValueError for an unknown policy.
    """
    if not study.rehearsal:
        raise NoRehearsal(
            "This study is no rehearsal: simulated annotators live in rehearsals alone. Clone it"
            ' as a rehearsal (by the API with {"rehearsal": true}).'
        )
    if study.status != StudyStatus.OPEN:
        raise NoRehearsal(f"The study is {study.status}: open it first.")
    policy_of(policy, Knowledge(study), random.Random(0))
    free = free_seats(study)
    total = free if number is None else min(number, free)
    if not total:
        raise NoRehearsal("The study has no free simulated seat.")
    made_of = {"study": study.pk, "policy": policy, "number": total, "free": free}
    return jobs.start(KIND, made_of, total=total, owner=by, seed=seed)


def jobs_of(study: Study) -> list[Job]:
    """The jobs that have sent robots into that study, newest first."""
    return list(Job.objects.filter(kind=KIND, parameters__study=study.pk).order_by("-pk"))


@jobs.job(KIND, limit=timedelta(minutes=10))
def _walk_one(job: Job, number: int) -> dict[str, Any]:
    """Walk one annotator to the end: {answers}. JobError where the study gives out no seat now."""
    study = Study.objects.get(pk=job.parameters["study"])
    site = InProcess()
    name = f"simulate-{job.pk}-{number}"
    cookie = settings.WORKER_COOKIE_NAME
    signer = signing.get_cookie_signer(salt=cookie + COOKIE_SALT)
    site.client.cookies[cookie] = signer.sign(name)
    address = reverse("landing", args=[study.simulated_link_code])
    seed = f"{job.seed}:{number}"
    try:
        with in_study_language():  # the pages speak the study's; this thread goes on in English
            steps = walk(site, address, job.parameters["policy"], Knowledge(study), seed)
            return {"answers": sum(1 for _step in steps)}
    except RobotError as error:
        raise jobs.JobError(f"Annotator {number + 1} cannot go on: {error}.") from None
