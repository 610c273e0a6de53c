"""Simulated annotators, which use the same pages and forms as human annotators.

They parse each page and submit its forms, with answers decided by policies.py. They join through
the study's link for simulated annotators, so they are a separate kind with separate seats, and
tables never count them as human.
"""

import random
from collections.abc import Iterator, Mapping
from dataclasses import replace
from datetime import timedelta
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings
from django.contrib.auth.models import User
from django.core import signing
from django.test import Client
from django.urls import reverse
from django.utils import translation

from annotation.models import Decision, Kind, Participation, Status, Step, Study, StudyStatus
from annotation.recruitment.links import COOKIE_SALT
from annotation.simulation.policies import Knowledge, Policy, confidence_of, policy_of
from annotation.study import lifecycle
from tasks import jobs, spans
from tasks.clock import database_now
from tasks.metrics import score
from tasks.models import Job


class InProcess:
    """Access to the pages through Django's test client, without a server."""

    def __init__(self) -> None:
        hosts = [host for host in settings.ALLOWED_HOSTS if host[:1] not in ("*", ".", "")]
        # Don't raise exceptions of concurrent requests in other threads. Responses show errors.
        self.client = Client(
            HTTP_HOST=hosts[0] if hosts else "localhost", raise_request_exception=False
        )

    def get(self, address: str) -> str:
        return self._read(self.client.get(address, follow=True, secure=settings.HTTPS))

    def post(self, address: str, fields: Mapping[str, str], *, htmx: bool = False) -> str:
        headers = {"HX-Request": "true"} if htmx else {}
        reply = self.client.post(
            address, fields, follow=True, headers=headers, secure=settings.HTTPS
        )
        if "HX-Redirect" in reply.headers:
            return self.get(reply["HX-Redirect"])
        return self._read(reply)

    def _read(self, reply: Any) -> str:
        if reply.status_code != 200:
            raise SimulationError(f"{reply.request['PATH_INFO']} answered {reply.status_code}")
        return reply.content.decode()


class SimulationError(Exception):
    """Raised if a simulated annotator can't continue from a page."""


# The run -----------------------------------------------------------------------------------------


def walk(
    site: InProcess, address: str, policy: str, knowledge: Knowledge, seed: str
) -> Iterator[str]:
    """Take an annotator from the study's URL (or a personal link) to the completion code.

    Yields the step of each answer, such as "training". Raises SimulationError
    if no seat is free or a page shows an error.
    """
    import lxml.html  # on first use: without it, a server needs 3 MB less

    rng, is_right = random.Random(seed), False
    decide = policy_of(policy, knowledge, rng)
    page = lxml.html.fromstring(site.get(address))
    links = page.xpath("//a[contains(@class, 'main-action')][starts-with(@href, '/work/')]/@href")
    if links:
        page = lxml.html.fromstring(site.get(links[0]))
    # The form that leads on, from Start to the next task. At the end, no such form is left.
    while (form := next((f for f in page.forms if _path(f).endswith(LEADING)), None)) is not None:
        fields, path = dict(form.form_values()), _path(form)
        if path.endswith("/consent/"):
            fields["agree"] = "yes"
        if path.endswith("/comprehend/"):
            fields |= knowledge.of_instructions
        if path.endswith("/answer/"):
            turn = page.xpath("descendant-or-self::section[@id='turn']")[0]
            yield "annotation" if turn.get("data-step") == "check" else turn.get("data-step")
            answer, is_right = _answer(page, decide, knowledge, rng)
            fields |= answer
        if path.endswith("/confidence/"):
            fields["confidence"] = str(confidence_of(policy, is_right, rng))
        html = site.post(form.action, fields, htmx="hx-post" in form.attrib)
        page = lxml.html.fromstring(html)


LEADING = (
    "/start/", "/consent/", "/comprehend/", "/begin/", "/answer/", "/confidence/", "/continue/",
    "/next-task/",
)  # fmt: skip


def _path(form: Any) -> str:
    return urlsplit(form.action or "").path


def _answer(
    page: Any, decide: Policy, knowledge: Knowledge, rng: random.Random
) -> tuple[dict[str, str], bool]:
    """Read the question on the page. Return (form data with an answer, whether it is correct)."""
    boxes = page.xpath("descendant::*[@data-passage]")
    # For an image, the attribute contains the segment.
    segments = [box.get("data-passage") or box.text_content() for box in boxes]
    question = page.xpath("descendant::*[@data-question]")[0].text_content()
    turn = page.xpath("descendant-or-self::section[@id='turn']")[0]
    boxes = page.xpath("descendant::*[@data-options]//span[@translate='no']")
    options = [box.text_content() for box in boxes]
    known = knowledge.lookup(turn.get("data-title"), question, segments, options)
    # Anchor and screening examples also come from training files.
    is_training = known.is_training and turn.get("data-step") == Step.TRAINING
    item = replace(known, is_training=is_training)
    selected, texts = decide(item, rng)
    given = [*texts, *(span.text for span in selected)]
    is_right = score(given, item.gold, item.card.gold_rule).s1 == 1
    if not item.card.is_highlighted:
        fields = item.card.kind.fields(options, texts) if texts else {"no_answer": "1"}
        return fields, is_right
    places = [(span.segment, span.start, span.end) for span in sorted(selected)]
    answer = spans.payload_of(places, no_answer=not given)
    return {"answer": answer, "typed": "\n".join(texts)}, is_right


# Rehearsals --------------------------------------------------------------------------------------

# A job processes one annotator per chunk. The browser ID is derived from the job and the number, so
# a repeated chunk continues where it stopped. An annotator who has to wait for a researcher's
# decision stops there, and is continued by the next job after admission.
KIND = "simulate"


class NoRehearsal(Exception):
    """Raised if simulated annotators can't enter this study. The message is shown to users."""


def free_seats(study: Study) -> int:
    seated = Participation.objects.holding_seats(database_now(), study)
    number = seated.filter(kind=Kind.SIMULATED).count()
    return sum(scenario.seats for scenario in study.scenarios.all()) - number


def admitted(study: Study) -> list[Participation]:
    """Return simulated annotators who were admitted after a job had left them waiting."""
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
    """Return admitted annotators, and how many new ones to run: `number`, or all free seats.

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


def start(study: Study, by: User, policy: str, number: int | None, seed: int | None) -> Job:
    """Start a job with simulated annotators. Raises the same errors as `to_run`.

    Annotators admitted since the last job continue first, using the same policy.
    """
    waited, new = to_run(study, policy, number)
    made_of = {"study": study.pk, "policy": policy, "number": new, "free": free_seats(study)}
    made_of |= {"resumed": [participation.pk for participation in waited]} if waited else {}
    return jobs.start(KIND, made_of, total=len(waited) + new, owner=by, seed=seed or 0)


def jobs_of(study: Study) -> list[Job]:
    return list(Job.objects.filter(kind=KIND, parameters__study=study.pk).order_by("-pk"))


@jobs.job(KIND, limit=timedelta(minutes=10))
def _walk_one(job: Job, number: int) -> dict[str, Any]:
    """Run one annotator to the end and return {answers}. Raises JobError if no seat is free."""
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
        # Pages activate the study's language, so restore English for this thread.
        with translation.override(settings.LANGUAGE_CODE):
            steps = walk(site, address, job.parameters["policy"], Knowledge(study), seed)
            return {"answers": sum(1 for _step in steps)}
    except SimulationError as error:
        raise jobs.JobError(f"Annotator {number + 1} cannot continue: {error}.") from None
