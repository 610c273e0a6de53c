"""Withdrawing: the answers are erased, the seat is free again, a tombstone keeps the counts true.

The only path that deletes answers (DESIGN section 3, invariant 2): the guards of the database let
the rows of a participation go only where its tombstone stands. That this worker has met the task
is kept, as a keyed hash, so that nobody meets its examples twice.
"""

from django.db import transaction
from django.utils import timezone

from annotation import parts, pay
from annotation.answering import lock
from annotation.models import Answer, AnswerSpan, ExitAnswers, Participation, Tombstone
from tasks import jobs
from tasks.models import Job


def withdraw(token: str) -> Participation:
    """Erase the answers of that participation. A second call changes nothing.

    Raises Participation.DoesNotExist.
    """
    with transaction.atomic():
        participation = lock(token)
        if participation.status == Participation.Status.WITHDRAWN:
            return participation
        # What was earned stays earned; once the answers are gone nobody could work it out.
        participation.worked_seconds = pay.active_time(participation).total_seconds()
        turns = participation.turns.all()
        Tombstone.objects.create(participation=participation, turns_erased=turns.count())
        AnswerSpan.objects.filter(answer__turn__participation=participation).delete()
        Answer.objects.filter(turn__participation=participation).delete()
        turns.delete()
        ExitAnswers.objects.filter(participation=participation).delete()
        participation.status = Participation.Status.WITHDRAWN
        participation.seat_number = None
        participation.in_analysis = False
        participation.signs = None
        participation.training_order = participation.annotation_order = participation.checks = []
        participation.finished_at = participation.finished_at or timezone.now()
        participation.save(
            update_fields=[
                "status", "seat_number", "in_analysis", "training_order", "annotation_order",
                "checks", "worked_seconds", "finished_at", "signs",
            ]
        )  # fmt: skip
        # Bundles that are kept, and those being made, hold these answers.
        jobs.drop(Job.objects.filter(kind="release", parameters__study=participation.study_id))
        parts.leave(participation, "withdrawn")
        pay.settle(participation)
        return participation
