"""By what each arm of a study is judged before the annotation step (pure).

Who is screened out is replaced. Arms that are judged differently therefore end with different
people, whatever they have learnt.
"""

from collections.abc import Sequence

from annotation.models import Qualification


def judged_by(rule: str, shots: int) -> int:
    """By how many examples an annotator of that arm is judged; 0 where nobody is."""
    return 0 if rule == Qualification.NONE else shots


def warning(rule: str, shots: Sequence[int]) -> str:
    """That some arms are judged and others are not; "" where all are judged alike, or none."""
    free = [number for number in sorted(shots) if not judged_by(rule, number)]
    judged = [number for number in sorted(shots) if judged_by(rule, number)]
    if not free or not judged:
        return ""
    others = ", ".join(map(str, judged))
    return (
        f"The rule of admission judges annotators with {others} shots and nobody at 0 shots. Who is"
        " screened out is replaced, so the judged arms end with better people even if nobody"
        " learns: a difference between 0 and more shots contains that gain."
    )
