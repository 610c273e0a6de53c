"""A study's custom questions: before the instructions, and with the questions at the end.

Only human annotators are asked: simulated annotators and models have no demographics. All questions
asked at one moment are answered together, once; a skipped question has an empty answer. The
questions at the end that every study can ask (EXIT_QUESTIONS) are optional too.
"""

from collections.abc import Mapping

from django.db import transaction

from annotation.models import ExitAnswers, Kind, OwnAnswer, Participation, Status
from annotation.study.own_questions import AFTER, BEFORE, OwnQuestion, of_moment

WHILE = {BEFORE: Status.WORKING, AFTER: Status.COMPLETED}


def asked(participation: Participation, moment: str) -> list[OwnQuestion]:
    """Return that moment's questions that this worker has not answered yet."""
    declared = participation.study.own_questions
    if not declared.strip() or participation.kind != Kind.PERSON:
        return []
    if participation.own_answers.filter(moment=moment).exists():
        return []
    return of_moment(declared, moment)


def answer(token: str, moment: str, given: Mapping[str, str]) -> None:
    """Store that moment's answers (ID -> text); repeating changes nothing.

    The form checks required ones. Raises Participation.DoesNotExist.
    """
    with transaction.atomic():
        participation = Participation.objects.lock(token)
        if participation.status != WHILE[moment] or (
            moment == BEFORE and participation.turns.exists()
        ):
            return
        OwnAnswer.objects.bulk_create(
            OwnAnswer(
                participation=participation,
                moment=moment,
                question=question.id,
                answer=given.get(question.id, ""),
            )
            for question in asked(participation, moment)
        )


EXIT_QUESTIONS = ("seen_before", "ai_used", "tools", "comments")


def answer_exit(token: str, given: Mapping[str, str]) -> None:
    """Store the exit answers of a completed participation; repeating changes nothing.

    Raises Participation.DoesNotExist.
    """
    answers = {question: given.get(question, "") for question in EXIT_QUESTIONS}
    with transaction.atomic():
        participation = Participation.objects.lock(token)
        if participation.status == Status.COMPLETED:
            ExitAnswers.objects.get_or_create(participation=participation, defaults=answers)
