"""Free seats that were idle for too long, returned on the platform or released by a researcher.

Other steps free seats, too: consent.py (declined), training_step.py (task already done),
qualification.py (screened out), withdrawal.py, exclusion.py, prolific/submissions.py (rejected).
"""

from datetime import datetime

from django.contrib.auth.models import User
from django.db import transaction

from annotation.models import DeclinedOffer, Participation, Status, Study, StudyStatus
from annotation.pay import budget
from tasks.clock import database_now


def free_seat(participation: Participation, reason: str, by: User) -> None:
    """Free the seat of an annotator who has not returned, at a researcher's request.

    The reason is logged. An annotator who returns later can continue as long as a seat is free.
    Raises ValueError if there is no seat to be freed.
    """
    with Study.locking(participation.study_id):
        if not release_seat(participation, Status.EXPIRED):
            raise ValueError("This annotator has no seat to free.")
        event = f"{freed(participation)}{reason}"
        pseudonym = participation.pseudonym
        participation.study.events.create(what=event[:200], about=pseudonym, by=by)


def freed(participation: Participation) -> str:
    """Return the log entry for a manually freed seat, up to the reason."""
    return f"seat of {participation.pseudonym} freed: "


def release_seat(participation: Participation, status: str) -> bool:
    """Free the seat of an active annotator, as requested by the platform or a researcher.

    `status` is RETURNED or EXPIRED. Returns whether a seat was freed.
    """
    with Participation.locking(participation.pk) as locked:
        if not locked.is_live:
            return False
        locked.store(status=status, seat_number=None)
        return True


def sweep() -> int:
    """Free idle seats, settle abandoned work and delete old offers. Return the number freed."""
    now, freed = database_now(), 0
    at_work = Participation.objects.live().values("study")
    for study in Study.objects.filter(pk__in=at_work):
        freed += expire_idle(study, now)
    for study in Study.objects.filter(status__in=(StudyStatus.OPEN, StudyStatus.PAUSED)):
        budget.settle_left_in_turn(study)
    DeclinedOffer.objects.exclude(pk__in=DeclinedOffer.objects.fresh(now).values("pk")).delete()
    return freed


def expire_idle(study: Study, now: datetime | None = None) -> int:
    """Free all seats beyond the idle limit, as counted by `holding_seats`. Return their number."""
    idle = study.participations.idle(now or database_now(), study).values_list("pk", flat=True)
    if not (found := list(idle)):
        return 0
    with transaction.atomic():
        # An annotator who is answering right now holds the lock, so check again under the lock.
        candidates = Participation.objects.filter(pk__in=found).select_for_update(no_key=True)
        still = idle.filter(pk__in=[participation.pk for participation in candidates])
        return Participation.objects.filter(pk__in=list(still)).update(
            status=Status.EXPIRED, seat_number=None
        )
