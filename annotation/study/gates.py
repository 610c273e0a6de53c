"""The gates of a design: questions about the instructions, and what a screening rule needs.

Only what a design declares is read and checked here; the steps of the protocol apply it.
"""

from dataclasses import dataclass

from annotation.models import Qualification


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


# How many others a rule needs before it can screen anybody out.
OTHERS_NEEDED: dict[str, int] = {Qualification.POINTS_BELOW: 2, Qualification.SDS_BELOW: 5}
