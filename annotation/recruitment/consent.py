"""The answer to the consent text; after "no", only a count remains."""

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
from tasks.clock import database_now

# Before consent, even if the seat has expired: after declining, only a count remains.
UNDECIDED = (Status.ARRIVED, *MAY_RESUME)


def record(participation: Participation, agree: bool) -> None:
    """Store consent, or delete all but a count. Does nothing if already answered.

    After a bonus or a decision, a declined participation's row remains, as withdrawn.
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


def _decline(participation: Participation) -> None:
    """Delete the declined participation, and offer no other scenario for a day."""
    with transaction.atomic():
        # Lock study and worker first, as in `join`: the worker may be starting at this moment.
        Study.objects.locked().get(pk=participation.study_id)
        worker = Worker.objects.select_for_update().filter(pk=participation.worker_id)
        list(worker)
        # Consent in another tab has work to lose: ignore this "no".
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
            _end_before_consent(locked)
            return
        Scenario.objects.filter(pk=participation.scenario_id).update(declined=F("declined") + 1)
        DeclinedOffer.objects.update_or_create(
            study_id=participation.study_id,
            worker_key=participation.worker.key,
            defaults={"scenario_id": participation.scenario_id, "declined_at": database_now()},
        )
        worker.filter(participations__isnull=True).delete()


def _end_before_consent(participation: Participation) -> None:
    """Keep earnings and decisions, since a bonus may be owed; delete the rest."""
    Tombstone.objects.create(participation=participation, turns_erased=0)
    participation.store(
        status=Status.WITHDRAWN, seat_number=None, in_analysis=False, browser="",
        finished_at=database_now(),
    )  # fmt: skip
