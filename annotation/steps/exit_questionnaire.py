"""The optional questions at the end; a worker may leave any of them out, or all."""

from collections.abc import Mapping

from django.db import transaction

from annotation.models import ExitAnswers, Status
from annotation.steps.answering import lock

LONGEST = 2000  # characters


class QuestionnaireError(ValueError):
    """What cannot be stored; the text is for people."""


def answer(token: str, fields: Mapping[str, str]) -> None:
    """Store the exit answers of a completed participation; a second time changes nothing.

    Raises Participation.DoesNotExist and QuestionnaireError.
    """
    given = {}
    for name in ("tools", "comments"):
        given[name] = fields.get(name, "").strip()
        if len(given[name]) > LONGEST or "\0" in given[name]:
            raise QuestionnaireError(f"Please keep each answer under {LONGEST} characters.")
    for name in ("seen_before", "ai_used"):
        given[name] = fields.get(name, "")
        if given[name] not in ("", *ExitAnswers.SeenBefore.values):
            raise QuestionnaireError("Please choose one of the answers shown.")
    with transaction.atomic():
        participation = lock(token)
        if participation.status == Status.COMPLETED:
            ExitAnswers.objects.get_or_create(participation=participation, defaults=given)
