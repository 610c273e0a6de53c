"""Warnings from the data reports of a study's tasks: leakage, and unreachable scores.

The design form, the preregistration and the report repeat them; the design must accept leakage
before the study opens.
"""

from collections.abc import Sequence

from annotation.models import Study
from tasks.models import Split, Task


def leaks(study: Study, tasks: Sequence[Task]) -> list[str]:
    """Return training examples of this design whose text and question also occur in the test."""
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
    """Return the tasks with gold that cannot be entered, so that 100 is unreachable."""
    return [
        f"{task.name}: the highest S1 that an answer can reach is {task.report['ceiling']:.2f}, as"
        " some gold answers are not found in the text."
        for task in tasks
        if task.report["ceiling"] < 100
    ]


def of_design(study: Study, tasks: Sequence[Task]) -> list[str]:
    """Return both, for the manifest."""
    return leaks(study, tasks) + ceilings(tasks)
