"""Storing consent or, if it is declined, deleting everything but a count and a one-day hash."""

from django.db import transaction
from django.db.models import F, ProtectedError

from annotation.models import (
    MAY_RESUME,
    DeclinedOffer,
    Participation,
    Scenario,
    Status,
    Study,
    Submission,
    Tombstone,
    Worker,
)
from annotation.recruitment import arrivals
from annotation.recruitment.platform_adapters import Exit
from tasks.clock import database_now

# Statuses of participants who have not consented, including those who let their seat expire.
UNDECIDED = (Status.ARRIVED, *MAY_RESUME)


def record(participation: Participation, agree: bool) -> None:
    """Record consent or, if it is declined, `_decline`. The first reply counts.

    If there is a bonus or a decision, the row is kept and marked as withdrawn.
    """
    arrived = Participation.objects.filter(pk=participation.pk, status=Status.ARRIVED)
    if agree:
        text = participation.study.consent_texts.order_by("-version").first()
        DeclinedOffer.objects.filter(
            study=participation.study_id, worker_key=participation.worker.key
        ).delete()
        arrived.update(status=Status.WORKING, consented_at=database_now(), consent_text=text)
    else:
        _decline(participation)


class Agreed(Exception):
    """Raised if the worker has consented in another tab in the meantime, which takes precedence."""


def decline(token: str) -> Exit | None:
    """Delete the participation of a worker who declines and return its exit. Raises Agreed."""
    study_exit = None
    for participation in Participation.objects.filter(token=token).select_related("study"):
        study_exit = arrivals.exit_of(participation, "no_consent")
        record(participation, agree=False)
    if Participation.objects.filter(token=token, consented_at__isnull=False).exists():
        raise Agreed
    return study_exit


def _decline(participation: Participation) -> None:
    """Delete the participation. For a day, the worker is offered no other scenario."""
    # Lock the study and the worker first, as in `join`, because the worker may be starting now.
    with Study.locking(participation.study_id):
        worker = Worker.objects.select_for_update().filter(pk=participation.worker_id)
        list(worker)
        # Ignore the "no" if consent was given in another tab, whose work could otherwise be lost.
        undecided = Participation.objects.select_for_update().filter(
            pk=participation.pk, status__in=UNDECIDED, consented_at=None
        )
        locked = undecided.first()
        if locked is None:
            return
        try:
            with transaction.atomic():
                Submission.objects.filter(participation=locked).delete()
                Participation.objects.filter(pk=locked.pk).delete()
        except ProtectedError:
            # A bonus may be due, so keep the row and its submission.
            Tombstone.objects.create(participation=locked, turns_erased=0)
            locked.store(
                status=Status.WITHDRAWN, seat_number=None, in_analysis=False, browser="",
                finished_at=database_now(),
            )  # fmt: skip
            return
        Scenario.objects.filter(pk=participation.scenario_id).update(declined=F("declined") + 1)
        DeclinedOffer.objects.update_or_create(
            study_id=participation.study_id,
            worker_key=participation.worker.key,
            defaults={"scenario_id": participation.scenario_id, "declined_at": database_now()},
        )
        worker.filter(participations__isnull=True).delete()
