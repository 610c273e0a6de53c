"""Reasons why a visitor did not get a seat, each with a code and a message."""

import tomllib
from datetime import datetime
from pathlib import Path

from django.db.models import Count, F, Q
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy

from annotation.models import (
    LIVE,
    ArmTaken,
    DeclinedOffer,
    Exposure,
    Kind,
    Participation,
    Reason,
    RefusedArrival,
    Scenario,
    Status,
    Study,
    StudyStatus,
)
from annotation.pay import budget
from annotation.recruitment import eligibility
from tasks.clock import database_now


class RecruitmentError(Exception):
    """Raised if a visitor can't get a seat. `code` is a key of NO_SEAT. Users see the message."""

    def __init__(self, code: str, message: str | Promise = ""):
        super().__init__(message or NO_SEAT[code])
        self.code = code


_TABLES = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
_TEXTS = {code: table["text"] for code, table in _TABLES.items()}
NO_SEAT = {code: gettext_lazy(text) for code, text in _TEXTS.items()}


def joinable(
    study: Study, key: str, kind: str, among: list[int] | None = None, now: datetime | None = None
) -> list[Scenario]:
    """Return scenarios with a free seat of this kind and a task that is new to the worker.

    They are ordered by primary key and limited to the keys in `among`, if given. On each,
    `taken` is the number of seats of this kind that are taken at `now`. Workers who decline a
    scenario are offered only that one for a day, so that they can't search for the shortest.
    """
    seen = Exposure.objects.filter(worker_key=key).values("task_name")
    seated = Participation.objects.holding_seats(now or database_now(), study).filter(kind=kind)
    taken = Count("participations", filter=Q(participations__in=seated.order_by().values("pk")))
    scenarios = study.scenarios.exclude(task__name__in=seen).annotate(taken=taken).order_by("pk")
    if among is not None:
        scenarios = scenarios.filter(pk__in=among)
    declined = DeclinedOffer.objects.fresh(database_now()).filter(study=study, worker_key=key)
    offered = set(declined.values_list("scenario", flat=True))
    found = [scenario for scenario in scenarios if scenario.pk in offered] or scenarios
    return [scenario for scenario in found if scenario.taken < scenario.seats_for(kind)]


def refusal(
    study: Study,
    key: str,
    kind: str,
    among: list[int] | None = None,
    browser: str = "",
    now: datetime | None = None,
    scenarios: list[Scenario] | None = None,
) -> str:
    """Return why the worker wouldn't get a seat now (a code in NO_SEAT), or "".

    `browser` is the keyed hash of the browser's cookie, or "" if it is irrelevant. Pass the
    joinable `scenarios` if they are already known.
    """
    if study.status != StudyStatus.OPEN:
        return study.status
    if is_rejected(study, key):
        return "rejected"
    if not eligibility.admits(study, key):
        return "not_eligible"
    if study.is_cross_task and _knows_the_training(study, key):
        return "not_eligible"
    # Workers who withdrew or were screened out can't do another task.
    endings = (Status.WITHDRAWN, Status.SCREENED_OUT)
    has_left = study.participations.filter(worker__key=key, status__in=endings).exists()
    # A model is a different worker in each scenario, and joins the one that it names.
    has_left = has_left or (kind == Kind.MODEL and among is None)
    if has_left or tasks_begun(study, key) >= study.tasks_per_worker:
        return "done"
    if browser and not study.shared_computers and _took_part(study, key, browser):
        return "browser"
    if not (joinable(study, key, kind, among, now) if scenarios is None else scenarios):
        return "full"
    return "" if budget.has_room(study, kind, now=now) else "budget"


def _took_part(study: Study, key: str, browser: str) -> bool:
    """Return whether another worker in this browser is live, completed or screened out."""
    finished = (Status.COMPLETED, Status.SCREENED_OUT)
    other_workers = study.participations.filter(browser=browser).exclude(worker__key=key)
    return other_workers.filter(status__in=(*LIVE, *finished)).exists()


def _knows_the_training(study: Study, key: str) -> bool:
    """Return whether the worker has seen a training task of any arm, outside this study.

    Such workers are excluded from all arms, because the arms would not be randomised otherwise.
    """
    if ArmTaken.objects.filter(study=study, worker_key=key).exists():
        return False  # the study's own rules apply to them
    trained = study.upstream_pool.values("task__name")
    return Exposure.objects.filter(worker_key=key, task_name__in=trained).exists()


def is_rejected(study: Study, key: str) -> bool:
    return study.submissions.filter(worker__key=key, status="REJECTED").exists()


def tasks_begun(study: Study, key: str) -> int:
    """Return how many of the study's tasks the worker has begun.

    A task begins when an example is shown. Tasks that ended even earlier are included, because the
    comprehension questions cannot be repeated.
    """
    participations = Participation.objects.filter(study=study, worker__key=key)
    ended = (Status.WITHDRAWN, Status.SCREENED_OUT)
    return participations.filter(Q(turns__isnull=False) | Q(status__in=ended)).distinct().count()


def counted_reason(study: Study, key: str, code: str, among: list[int] | None = None) -> str:
    """Return the Reason for a refusal with this code, or "" if it isn't counted.

    Instead of FULL, it is MET if the only free seats are for tasks that the worker has done.
    """
    if code == Reason.FULL:
        met = Exposure.objects.filter(worker_key=key, task_name__in=study.tasks.values("name"))
        if met.exists() and joinable(study, "", Kind.PERSON, among):
            return Reason.MET
    return code if code in Reason.values else ""


def count(study: Study, reason: str) -> None:
    row, _is_new = RefusedArrival.objects.get_or_create(study=study, reason=reason)
    RefusedArrival.objects.filter(pk=row.pk).update(number=F("number") + 1)
