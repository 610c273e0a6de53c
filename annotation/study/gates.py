"""The gates of a design: questions about the instructions, and what a screening rule needs.

Only what a design declares is read and checked here; the steps of the protocol apply it. Annotators
who are screened out are replaced: arms that are judged differently can end with different people,
whatever they have learnt.
"""

from collections.abc import Sequence
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


def judged_by(rule: str, shots: int, screening: int) -> int:
    """By how many examples an annotator of that arm is judged; 0 where nobody is.

    `screening` is the size of the screening set, which arms of 0 shots answer.
    """
    return 0 if rule == Qualification.NONE else shots or screening


def warning(rule: str, shots: Sequence[int], screening: int) -> str:
    """That some arms are judged and others are not; "" where all are judged alike, or none."""
    free = [number for number in sorted(shots) if not judged_by(rule, number, screening)]
    judged = [number for number in sorted(shots) if judged_by(rule, number, screening)]
    if not free or not judged:
        return ""
    others = ", ".join(map(str, judged))
    return (
        f"The rule of admission judges annotators with {others} shots and nobody at 0 shots."
        " Annotators who are screened out are replaced by others who pass, so the judged arms can"
        " end with better annotators even if nobody learns: a difference between 0 and more shots"
        " can contain that gain."
    )


def screened(rule: str, shots: Sequence[int], screening: int) -> str:
    """That zero-shot annotators are judged by a screening set; "" where they are not."""
    if 0 not in shots or not judged_by(rule, 0, screening):
        return ""
    plural = "" if screening == 1 else "s"
    return (
        f"At 0 shots the rule of admission judges annotators by a screening set: {screening}"
        f" example{plural} of the task's training files that no other arm is shown, without a"
        " reveal and excluded from every score."
    )
