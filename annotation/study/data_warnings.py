"""What the data reports of its tasks mean for a study: leakage, and scores that nobody can reach.

Repeated by the form of the design, the preregistration and the report; leakage has to be accepted
in the design before the study opens.
"""

from collections.abc import Sequence

from annotation.models import Study
from tasks.models import Split, Task


def leaks(study: Study, tasks: Sequence[Task]) -> list[str]:
    """The training examples of this design whose text and question stand in the test too."""
    shots = [number for number in study.shots if number]
    sentences = []
    for task in tasks:
        overlaps = {entry["file"]: entry["ids"] for entry in task.report["overlap_with_test"]}
        if not overlaps:
            continue
        trained = task.splits.filter(
            kind=Split.Kind.TRAIN, shots__in=shots, number__in=study.splits
        )
        names = trained.order_by("shots", "number").values_list("filename", flat=True)
        sentences += [
            f"{task.name}: {len(overlaps[name])} of the training examples of {name} stand in the"
            " test too, so their answers are revealed before they are asked."
            for name in names
            if name in overlaps
        ]
    return sentences


def ceilings(tasks: Sequence[Task]) -> list[str]:
    """The tasks of which some gold cannot be given, so that 100 cannot be reached."""
    return [
        f"{task.name}: the highest S1 that an answer can reach is {task.report['ceiling']:.2f}, as"
        " some gold answers are not found in the text."
        for task in tasks
        if task.report["ceiling"] < 100
    ]


def of_design(study: Study, tasks: Sequence[Task]) -> list[str]:
    """Both, for the manifest."""
    return leaks(study, tasks) + ceilings(tasks)
