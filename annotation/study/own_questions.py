"""A study's custom questions, before and after the task, such as demographics.

They are declared in the design as text and frozen with it. Each block contains an ID, when and how
to ask, and the question, followed by options, one per line. Blank lines separate blocks.

    age, before, number: How old are you?

    language, before, choice, required: Is English your first language?
    - Yes
    - No
"""

import re
from dataclasses import dataclass

from django.core.exceptions import ValidationError

BEFORE, AFTER = "before", "after"
CHOICE, TEXT, NUMBER = "choice", "text", "number"
HEAD = re.compile(
    r"(?P<id>[a-z][a-z0-9_]{0,39})\s*,\s*(?P<moment>before|after)\s*,"
    r"\s*(?P<kind>choice|text|number)\s*(?P<required>,\s*required\s*)?:\s*(?P<text>\S.*)"
)
MAX_QUESTIONS = 30


@dataclass(frozen=True)
class OwnQuestion:
    """A custom question. Only choices have `options`."""

    id: str
    moment: str
    kind: str
    is_required: bool
    text: str
    options: tuple[str, ...] = ()


def parse(declared: str) -> list[OwnQuestion]:
    """Parse a declaration of questions. Raises ValidationError."""
    questions = [_question(number, block) for number, block in enumerate(blocks(declared), start=1)]
    if len(questions) > MAX_QUESTIONS:
        raise ValidationError(f"Enter at most {MAX_QUESTIONS} questions.")
    ids = [question.id for question in questions]
    for number, name in enumerate(ids, start=1):
        if name in ids[: number - 1]:
            raise ValidationError(f"Question {number}: another question already has the id {name}.")
    return questions


def questions_at(declared: str, moment: str) -> list[OwnQuestion]:
    return [question for question in parse(declared) if question.moment == moment]


def blocks(declared: str) -> list[list[str]]:
    """Return the lines of each block, without blank lines or surrounding spaces."""
    texts = declared.replace("\r\n", "\n").split("\n\n")
    lines = [[line.strip() for line in text.splitlines() if line.strip()] for text in texts]
    return [block for block in lines if block]


def _question(number: int, block: list[str]) -> OwnQuestion:
    head, *option_lines = block
    match = HEAD.fullmatch(head)
    if match is None:
        raise ValidationError(
            f"Question {number}: expected an id, before or after, choice, text or number, and the"
            " question, such as “age, before, number: How old are you?”."
        )
    options = tuple(line[1:].strip() for line in option_lines if line.startswith("-"))
    if len(options) != len(option_lines):
        raise ValidationError(f"Question {number}: start each option with -.")
    if match["kind"] != CHOICE and options:
        raise ValidationError(f"Question {number}: only a choice has options.")
    if match["kind"] == CHOICE and (
        len(options) < 2 or not all(options) or len(set(options)) < len(options)
    ):
        raise ValidationError(f"Question {number}: write at least two different options.")
    return OwnQuestion(
        match["id"], match["moment"], match["kind"], bool(match["required"]), match["text"], options
    )
