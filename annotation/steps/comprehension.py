"""Questions about the instructions, before the first example.

Whoever does not get them right within the study's attempts is not rejected but paid for the time
and screened out (FACTS 1.1: at least two attempts, never a ground for rejection).

The researcher writes them as text: a question, then its options, one on each line, the right one
marked by an asterisk; a blank line between two questions.

    How often can you change an answer?
    - As often as I like
    * Never
"""

from collections.abc import Mapping
from dataclasses import dataclass

from django.db import transaction

from annotation.models import Participation
from annotation.steps import qualification
from annotation.steps.answering import lock
from tasks.clock import database_now


class QuestionError(ValueError):
    """What is wrong with the text of the questions; names the question."""


@dataclass(frozen=True)
class Question:
    text: str
    options: tuple[str, ...]
    right: int


def parse(text: str) -> list[Question]:
    """Read the questions. Raises QuestionError."""
    blocks = [block for block in text.replace("\r\n", "\n").split("\n\n") if block.strip()]
    return [_question(number, block) for number, block in enumerate(blocks, start=1)]


def _question(number: int, block: str) -> Question:
    lines = [line.strip() for line in block.strip().splitlines() if line.strip()]
    marked = [line for line in lines if line[0] in "-*"]
    asked = [line for line in lines if line[0] not in "-*"]
    if not asked or lines[: len(asked)] != asked:
        raise QuestionError(f"Question {number}: write the question first, then its options.")
    options = tuple(line[1:].strip() for line in marked)
    right = [index for index, line in enumerate(marked) if line[0] == "*"]
    if len(options) < 2 or not all(options) or len(set(options)) < len(options):
        raise QuestionError(f"Question {number}: write at least two different options.")
    if len(right) != 1:
        raise QuestionError(f"Question {number}: mark exactly one option as right, with *.")
    return Question(" ".join(asked), options, right[0])


def is_open(participation: Participation) -> bool:
    """Are there questions that this worker has still to get right?"""
    asked = bool(participation.study.comprehension_questions.strip())
    return asked and participation.comprehended_at is None


def answer(token: str, fields: Mapping[str, str]) -> list[int]:
    """Take one attempt; return the numbers (from 1) of the questions that were wrong.

    An attempt without an answer to every question does not count: the list then holds those.
    Raises Participation.DoesNotExist.
    """
    with transaction.atomic():
        participation = lock(token)
        if participation.status != Participation.Status.WORKING or not is_open(participation):
            return []
        questions = parse(participation.study.comprehension_questions)
        given = [fields.get(f"question-{number}") for number in range(1, len(questions) + 1)]
        missing = [number for number, one in enumerate(given, start=1) if one is None]
        if missing:
            return missing
        wrong = [
            number
            for number, (question, one) in enumerate(zip(questions, given, strict=True), start=1)
            if one != str(question.right)
        ]
        participation.comprehension_tries += 1
        if not wrong:
            participation.comprehended_at = database_now()
        participation.save(update_fields=["comprehension_tries", "comprehended_at"])
        tries = participation.comprehension_tries
        if wrong and tries >= participation.study.comprehension_attempts:
            qualification.screen_out(
                participation, f"questions about the instructions wrong {tries} times"
            )
        return wrong
