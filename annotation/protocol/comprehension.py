"""Comprehension questions about the instructions, before the first example.

Workers who run out of attempts are not rejected: they are paid for their time and screened
out (docs/prolific.md#prolifics-constraints).

The researcher writes the questions as text: each question is followed by its options, one per
line, with an asterisk before the correct option. Blank lines separate questions.

    How often can you change an answer?
    - As often as I like
    * Never
"""

from collections.abc import Mapping

from django.db import transaction

from annotation.models import Participation, Status
from annotation.protocol import qualification
from annotation.study.screening import parse
from tasks.clock import database_now


def is_open(participation: Participation) -> bool:
    has_questions = bool(participation.study.comprehension_questions.strip())
    return has_questions and participation.comprehended_at is None


def answer(token: str, given: Mapping[str, str]) -> list[int]:
    """Store an attempt. Return the 1-based numbers of the questions answered incorrectly.

    `given` contains the number of an option for each question. Raises Participation.DoesNotExist.
    """
    with transaction.atomic():
        participation = Participation.objects.lock(token)
        if participation.status != Status.WORKING or not is_open(participation):
            return []
        questions = parse(participation.study.comprehension_questions)
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
