"""Simulated annotators as a job: one a chunk, in a study that its design calls a rehearsal.

Each walks the pages as `simulate_workers` lets them, with a browser that its job and number name:
a chunk that is run again goes on where the first one stopped. Who waits for a researcher's decision
stops there; once admitted, the next job sends them on.
"""

import random
from datetime import timedelta
from typing import Any

from django.conf import settings
from django.contrib.auth.models import User
from django.core import signing
from django.urls import reverse

from annotation.access import in_study_language
from annotation.models import Decision, Kind, Participation, Status, Study, StudyStatus
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


def admitted(study: Study) -> list[Participation]:
    """Robots that a researcher has admitted to the annotation step, and that nobody walks on yet.

    They waited for the decision, so their own walk has ended.
    """
    walked = {
        pk
        for job in jobs_of(study)
        if job.state in (Job.State.WAITING, Job.State.RUNNING)
        for pk in job.parameters.get("goes_on", ())
    }
    chosen = study.participations.filter(
        kind=Kind.SIMULATED, status=Status.WORKING,
        decisions__about=Decision.About.QUALIFICATION, decisions__outcome=True,
        decisions__by__isnull=False,
    )  # fmt: skip
    return list(chosen.exclude(pk__in=walked).distinct().order_by("pk"))


def start(study: Study, policy: str, number: int | None, seed: int, by: User) -> Job:
    """The job that sends so many simulated annotators into the study, or into all free seats.

    Those who were admitted meanwhile go on first, by the same policy. Raises NoRehearsal, and
    ValueError for an unknown policy.
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
    goes_on = [robot.pk for robot in admitted(study)]
    new = free if number is None else min(number, free)
    total = len(goes_on) + new
    if not total:
        raise NoRehearsal("The study has no free simulated seat, and nobody was admitted.")
    made_of = {"study": study.pk, "policy": policy, "number": new, "free": free}
    made_of |= {"goes_on": goes_on} if goes_on else {}
    return jobs.start(KIND, made_of, total=total, owner=by, seed=seed)


def jobs_of(study: Study) -> list[Job]:
    """The jobs that have sent robots into that study, newest first."""
    return list(Job.objects.filter(kind=KIND, parameters__study=study.pk).order_by("-pk"))


@jobs.job(KIND, limit=timedelta(minutes=10))
def _walk_one(job: Job, number: int) -> dict[str, Any]:
    """Walk one annotator to the end: {answers}. JobError where the study gives out no seat now."""
    study = Study.objects.get(pk=job.parameters["study"])
    site = InProcess()
    goes_on = job.parameters.get("goes_on", [])
    if number < len(goes_on):
        token = Participation.objects.get(pk=goes_on[number]).token
        address = reverse("work", args=[token])
    else:
        name = f"simulate-{job.pk}-{number - len(goes_on)}"
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
