"""Counting refused arrivals, by reason: nothing is kept that leads back to anybody."""

from django.db.models import F

from annotation.models import Exposure, Kind, Reason, RefusedArrival, Study
from annotation.recruitment import refusals


def reason(study: Study, key: str, code: str, among: list[int] | None = None) -> str:
    """Which Reason a refusal with this code is; "" for one that is not counted.

    "full" is MET where only the tasks that this worker has done already keep them from a free seat.
    """
    if code == Reason.FULL:
        names = study.tasks.values("name")
        has_met = Exposure.objects.filter(worker_key=key, task_name__in=names).exists()
        if has_met and refusals.joinable(study, "", Kind.PERSON, among):
            return Reason.MET
    return code if code in Reason.values else ""


def count(study: Study, why: str) -> None:
    """Count one refusal for this Reason."""
    row, _is_new = RefusedArrival.objects.get_or_create(study=study, reason=why)
    RefusedArrival.objects.filter(pk=row.pk).update(number=F("number") + 1)
