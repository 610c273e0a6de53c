"""The gates of a design: comprehension questions, and what a screening rule requires.

This module parses and checks declarations; the steps of the protocol apply them. Screened-out
annotators are replaced: arms with different rules can end with different people, whatever they have
learnt.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from annotation.models import Qualification


class QuestionError(ValueError):
    """An error in the text of the questions; names the question."""


@dataclass(frozen=True)
class Question:
    text: str
    options: tuple[str, ...]
    right: int


def parse(text: str) -> list[Question]:
    """Parse the questions. Raises QuestionError."""
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


# Number of others that a rule requires before it can screen out.
OTHERS_NEEDED: dict[str, int] = {Qualification.POINTS_BELOW: 2, Qualification.SDS_BELOW: 5}


def judged_by(rule: str, shots: int, screening: int) -> int:
    """Return how many examples judge an annotator of that arm; 0 without a rule.

    `screening` is the size of the screening set, which zero-shot arms answer.
    """
    return 0 if rule == Qualification.NONE else shots or screening


def warning(rule: str, shots: Sequence[int], screening: int) -> str:
    """Return a warning if only some arms are judged; else ""."""
    free = [number for number in sorted(shots) if not judged_by(rule, number, screening)]
    judged = [number for number in sorted(shots) if judged_by(rule, number, screening)]
    if not free or not judged:
        return ""
    others = ", ".join(map(str, judged))
    return (
        f"The screening rule judges annotators with {others} shots, but not at 0 shots."
        " Screened-out annotators are replaced by annotators who pass, so the judged arms can have"
        " better annotators even without learning. A difference between 0 and more shots can"
        " include this gain."
    )


def screened(rule: str, shots: Sequence[int], screening: int) -> str:
    """Return a sentence that a screening set judges zero-shot annotators; "" if not."""
    if 0 not in shots or not judged_by(rule, 0, screening):
        return ""
    plural = "" if screening == 1 else "s"
    return (
        f"At 0 shots, the screening rule judges annotators by a screening set: {screening}"
        f" example{plural} of the task's training files that no other arm sees, without a reveal"
        " and excluded from every score."
    )
