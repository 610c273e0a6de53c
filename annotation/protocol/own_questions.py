"""A study's custom questions, before the instructions and at the end.

Only human annotators are asked, as simulated annotators and models have no demographics. All
questions for one moment are answered together, and only once. Skipped questions are stored with
empty answers. EXIT_QUESTIONS are optional questions at the end that every study can ask.
"""

from collections.abc import Mapping

from django.db import transaction

from annotation.models import ExitAnswers, Kind, OwnAnswer, Participation, Status
from annotation.study.own_questions import AFTER, BEFORE, OwnQuestion, questions_at

WHILE = {BEFORE: Status.WORKING, AFTER: Status.COMPLETED}


def unanswered(participation: Participation, moment: str) -> list[OwnQuestion]:
    """Return the questions for this moment, or [] if the worker has already answered them."""
    declared = participation.study.own_questions
    if not declared.strip() or participation.kind != Kind.PERSON:
        return []
    if participation.own_answers.filter(moment=moment).exists():
        return []
    return questions_at(declared, moment)


def answer(token: str, moment: str, given: Mapping[str, str]) -> None:
    """Store the answers by question ID, once. Raises Participation.DoesNotExist."""
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
            for question in unanswered(participation, moment)
        )


EXIT_QUESTIONS = ("seen_before", "ai_used", "tools", "comments")


def answer_exit(token: str, given: Mapping[str, str]) -> None:
    """Store exit answers once, if the study asks. Raises Participation.DoesNotExist."""
    answers = {question: given.get(question, "") for question in EXIT_QUESTIONS}
    with transaction.atomic():
        participation = Participation.objects.lock(token)
        if participation.status == Status.COMPLETED and participation.study.exit_questionnaire:
            ExitAnswers.objects.get_or_create(participation=participation, defaults=answers)
