"""A study's custom questions, before the instructions and at the end, and those on comprehension.

Only human annotators are asked, as simulated annotators and models have no demographics. All
questions for one moment are answered together, and only once. Skipped questions are stored with
empty answers. EXIT_QUESTIONS are optional questions at the end that every study can ask.

Comprehension questions about the instructions come before the first example. Workers who run out of
attempts are not rejected: they are paid for their time and screened out
(docs/prolific.md#prolifics-constraints).
"""

from collections.abc import Mapping

from django.db import transaction

from annotation.models import ExitAnswers, Kind, OwnAnswer, Participation, Status
from annotation.protocol import qualification
from annotation.study import screening
from annotation.study.own_questions import AFTER, BEFORE, OwnQuestion, questions_at
from tasks.clock import database_now

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


def comprehension_is_open(participation: Participation) -> bool:
    has_questions = bool(participation.study.comprehension_questions.strip())
    return has_questions and participation.comprehended_at is None


def answer_comprehension(token: str, given: Mapping[str, str]) -> list[int]:
    """Store an attempt. Return the 1-based numbers of the questions answered incorrectly.

    `given` contains the number of an option for each question. Raises Participation.DoesNotExist.
    """
    with transaction.atomic():
        participation = Participation.objects.lock(token)
        if participation.status != Status.WORKING or not comprehension_is_open(participation):
            return []
        questions = screening.parse(participation.study.comprehension_questions)
        wrong = [
            number
            for number, question in enumerate(questions, start=1)
            if given[f"question-{number}"] != str(question.right)
        ]
        participation.comprehension_attempts_used += 1
        if not wrong:
            participation.comprehended_at = database_now()
        participation.save(update_fields=["comprehension_attempts_used", "comprehended_at"])
        attempts = participation.comprehension_attempts_used
        if wrong and attempts >= participation.study.comprehension_attempts:
            qualification.screen_out(
                participation, f"questions about the instructions wrong {attempts} times"
            )
        return wrong
