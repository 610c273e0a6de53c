"""From arrival to consent: who this is, which seat they get, and whether they agree.

A seat is taken at Start, before consent is asked. Allocation is balanced: the least filled scenario
that this worker may join, ties by the study's seed. Over-filling is impossible by schema (a seat
number is unique per scenario and kind); the lock here is what turns a race for the last seat into a
clear "full" instead of an error.
"""

import hashlib
import hmac
import random
import secrets

from django.conf import settings
from django.db import transaction
from django.db.models import Count, Q
from django.utils import timezone

from annotation.models import Exposure, Participation, Scenario, Study, Worker

PSEUDONYM_ALPHABET = "ABCDEFGHJKLMNPQRSTUVWXYZ23456789"


class RecruitmentError(Exception):
    """Why there is no seat. `code`: full, closed, paused, draft or done; the text is for people."""

    def __init__(self, code: str, sentence: str):
        super().__init__(sentence)
        self.code = code


NO_SEAT = {
    "full": "All places in this study are taken at the moment. Thank you for your interest.",
    "closed": "This study is closed. Thank you for your interest.",
    "paused": "This study is paused. Please try again later with the same link.",
    "draft": "This study is not open yet. Please try again later with the same link.",
    "done": "You have already taken part in this study. Thank you!",
}


def worker_key(recruiter: str, identity: str) -> str:
    """The keyed hash that bars a person from a second turn at a task, also after every purge."""
    message = f"{recruiter}\0{identity}".encode()
    return hmac.new(settings.WORKER_KEY.encode(), message, hashlib.sha256).hexdigest()


def joinable(study: Study, key: str, kind: str) -> list[Scenario]:
    """Scenarios with a free seat of that kind whose task this worker has never seen.

    Each carries `taken`, its number of seats taken by that kind. Ordered by primary key.
    """
    seen = Exposure.objects.filter(worker_key=key).values("task_name")
    taken = Count("participations", filter=Q(participations__in=_seats_of(kind)))
    scenarios = study.scenarios.exclude(task__name__in=seen).annotate(taken=taken).order_by("pk")
    return [scenario for scenario in scenarios if scenario.taken < scenario.seats]


def _seats_of(kind: str):
    return Participation.objects.seated().filter(kind=kind)


def refusal(study: Study, key: str, kind: str) -> str:
    """Why this worker would get no seat now (a code of NO_SEAT), or "" if they would."""
    if study.status != Study.Status.OPEN:
        return study.status
    if _tasks_begun(study, key) >= study.tasks_per_worker:
        return "done"
    return "" if joinable(study, key, kind) else "full"


def _tasks_begun(study: Study, key: str) -> int:
    """How many tasks of the study this worker has begun: participations with an example shown."""
    begun = Participation.objects.filter(study=study, worker__key=key, turns__isnull=False)
    return begun.distinct().count()


def join(study_id: int, key: str, recruiter: str, kind: str) -> Participation:
    """Take a seat for this worker, or return the live participation that they already have.

    Raises RecruitmentError when there is no seat for them.
    """
    with transaction.atomic():
        # Two workers (or one, twice) deciding at once would both count the last seat as free:
        # one decision at a time per study.
        study = Study.objects.select_for_update(no_key=True).get(pk=study_id)
        expire_idle(study)
        worker, _created = Worker.objects.get_or_create(
            key=key, defaults={"recruiter": recruiter, "kind": kind}
        )
        live = study.participations.live().filter(worker=worker).first()
        if live is not None:
            return live
        code = refusal(study, key, kind)
        if code:
            raise RecruitmentError(code, NO_SEAT[code])
        scenario = choose(study, joinable(study, key, kind))
        return take_seat(study, scenario, worker)


def choose(study: Study, scenarios: list[Scenario]) -> Scenario:
    """The least filled of these scenarios; ties by the study's seed and the number of arrivals."""
    least = min(scenario.taken for scenario in scenarios)
    tied = [scenario for scenario in scenarios if scenario.taken == least]
    arrivals = study.participations.count()
    return random.Random(f"{study.seed}:seat:{arrivals}").choice(tied)


def take_seat(study: Study, scenario: Scenario, worker: Worker) -> Participation:
    """Insert the participation on the lowest free seat of the scenario."""
    taken = set(
        _seats_of(worker.kind).filter(scenario=scenario).values_list("seat_number", flat=True)
    )
    free = next(number for number in range(1, scenario.seats + 1) if number not in taken)
    return Participation.objects.create(
        study=study,
        scenario=scenario,
        worker=worker,
        kind=worker.kind,
        seat_number=free,
        pseudonym=_new_name(study),
        completion_code="".join(secrets.choice(PSEUDONYM_ALPHABET) for _ in range(8)),
    )


def _new_name(study: Study) -> str:
    """A pseudonym that is new in the study and says nothing about who or when."""
    while True:
        name = "A-" + "".join(secrets.choice(PSEUDONYM_ALPHABET) for _ in range(5))
        if not study.participations.filter(pseudonym=name).exists():
            return name


def expire_idle(study: Study) -> int:
    """Free the seats of workers idle for longer than the study's limit; return how many."""
    idle = study.participations.idle_since(timezone.now() - study.idle_limit)
    return Participation.objects.filter(pk__in=[one.pk for one in idle]).update(
        status=Participation.Status.EXPIRED, seat_number=None
    )


def consent(participation: Participation, agree: bool) -> None:
    """Record consent, or give the seat back. Does nothing once the question was answered."""
    arrived = Participation.objects.filter(pk=participation.pk, status=Participation.Status.ARRIVED)
    if agree:
        arrived.update(status=Participation.Status.WORKING, consented_at=timezone.now())
    else:
        arrived.update(status=Participation.Status.DECLINED, seat_number=None)


def next_task_is_offered(participation: Participation) -> bool:
    """May this worker go on with another task of the study?"""
    study, worker = participation.study, participation.worker
    return refusal(study, worker.key, worker.kind) == ""
