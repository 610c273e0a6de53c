"""By what each arm of a study is judged before the annotation step (pure).

Annotators who are screened out are replaced. Arms that are judged differently can therefore end
with different people, whatever they have learnt.
"""

from collections.abc import Sequence

from annotation.models import Qualification


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
