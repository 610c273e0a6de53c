"""The optional questions at the end; a worker may leave any of them out, or all."""

from collections.abc import Mapping

from django.db import transaction

from annotation.models import ExitAnswers, Status
from annotation.steps.locking import lock

QUESTIONS = ("seen_before", "ai_used", "tools", "comments")


def answer(token: str, given: Mapping[str, str]) -> None:
    """Store the exit answers of a completed participation; a second time changes nothing.

    Raises Participation.DoesNotExist.
    """
    answers = {question: given.get(question, "") for question in QUESTIONS}
    with transaction.atomic():
        participation = lock(token)
        if participation.status == Status.COMPLETED:
            ExitAnswers.objects.get_or_create(participation=participation, defaults=answers)
