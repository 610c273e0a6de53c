"""Withdrawing: the answers are erased, the seat is free again, a tombstone keeps the counts true.

The only path that deletes answers (DESIGN section 3, invariant 2): the guards of the database let
the rows of a participation go only where its tombstone stands. That this worker has met the task
is kept, as a keyed hash, so that nobody meets its examples twice.
"""

from django.db import transaction

from annotation.answering import lock
from annotation.models import Answer, AnswerSpan, Participation, Tombstone


def withdraw(token: str) -> Participation:
    """Erase the answers of that participation. A second call changes nothing.

    Raises Participation.DoesNotExist.
    """
    with transaction.atomic():
        participation = lock(token)
        if participation.status == Participation.Status.WITHDRAWN:
            return participation
        turns = participation.turns.all()
        Tombstone.objects.create(participation=participation, turns_erased=turns.count())
        AnswerSpan.objects.filter(answer__turn__participation=participation).delete()
        Answer.objects.filter(turn__participation=participation).delete()
        turns.delete()
        participation.status = Participation.Status.WITHDRAWN
        participation.seat_number = None
        participation.in_analysis = False
        participation.training_order = participation.annotation_order = []
        participation.save(
            update_fields=[
                "status", "seat_number", "in_analysis", "training_order", "annotation_order",
            ]
        )  # fmt: skip
        return participation
