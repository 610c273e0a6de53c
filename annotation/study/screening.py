"""Declarations of comprehension questions, the screening rule, and screening and anchor sets.

This module parses and checks the declarations, and the protocol's steps apply them. The screening
set contains examples, without reveals, for judging zero-shot annotators. It is drawn for each task
from training files, so that it resembles the examples used to judge the other arms. No arm shows
these examples anywhere else. Once the study is open, they are identified by hashes in its manifest.
The anchor examples come first in the same draw, so they are never in the screening set.
"""

import json
import random
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from django.core.exceptions import ValidationError

from annotation.models import Qualification, Study
from annotation.study.own_questions import blocks
from tasks.models import Example, Split, Task


def examples(study: Study, task: Task) -> list[Example]:
    """Return a task's screening set from the manifest or, for a draft, as it would be drawn now.

    It is empty if the design has none, and too small if there are not enough examples.
    """
    start = study.anchor_examples
    return _slice(study, task, "screening_hashes", start, start + study.screening_examples)


def anchors(study: Study, task: Task) -> list[Example]:
    """Return a task's anchor examples, in the same way as `examples`."""
    return _slice(study, task, "anchor_hashes", 0, study.anchor_examples)


def _slice(study: Study, task: Task, key: str, start: int, end: int) -> list[Example]:
    if start == end:
        return []
    if study.manifest:
        hashes = json.loads(study.manifest)[key][task.name]
        by_hash = {example.content_hash: example for example in reversed(_training(task))}
        return [by_hash[digest] for digest in hashes]
    return spare(study, task)[start:end]


def spare(study: Study, task: Task) -> list[Example]:
    """Return candidates for anchors and a screening set, in an order drawn with the study's seed.

    Candidates are not in the study's training files and share no text with its test examples and
    checks, so that no annotator sees a test text early. Training examples are compared by text and
    question, ignoring the gold. IDs are unique, so exports can identify an example by task and ID.
    """
    splits = {(shots, number) for shots in study.shots for number in study.splits}
    pool = _training(task)
    used = {_content(item) for item in pool if (item.split.shots, item.split.number) in splits}
    tested = {json.dumps(context) for context in _texts(task)}
    pool = [
        item
        for item in _distinct(pool, _content)
        if _content(item) not in used and json.dumps(item.context) not in tested
    ]
    random.Random(f"{study.seed}:{task.name}:screening").shuffle(pool)
    return _distinct(pool, lambda example: example.source_id)


def _training(task: Task) -> list[Example]:
    of_files = Example.objects.filter(split__task=task, split__kind=Split.Kind.TRAIN)
    order = ("split__shots", "split__number", "position")
    return list(of_files.select_related("split").order_by(*order))


def _texts(task: Task) -> Iterable[list[str]]:
    kinds = (Split.Kind.TEST, Split.Kind.CHECK)
    of_files = Example.objects.filter(split__task=task, split__kind__in=kinds)
    return of_files.order_by().values_list("context", flat=True)


def _content(example: Example) -> str:
    return json.dumps([example.context, example.question, example.options])


def _distinct(pool: list[Example], key: Callable[[Example], str]) -> list[Example]:
    first: dict[str, Example] = {}
    for example in pool:
        first.setdefault(key(example), example)
    return list(first.values())


@dataclass(frozen=True)
class Question:
    text: str
    options: tuple[str, ...]
    right: int


def parse(text: str) -> list[Question]:
    """Parse the comprehension questions. Raises ValidationError."""
    return [_question(number, block) for number, block in enumerate(blocks(text), start=1)]


def _question(number: int, lines: list[str]) -> Question:
    marked = [line for line in lines if line[0] in "-*"]
    question_lines = [line for line in lines if line[0] not in "-*"]
    if not question_lines or lines[: len(question_lines)] != question_lines:
        raise ValidationError(f"Question {number}: write the question first, then its options.")
    options = tuple(line[1:].strip() for line in marked)
    right = [index for index, line in enumerate(marked) if line[0] == "*"]
    if len(options) < 2 or not all(options) or len(set(options)) < len(options):
        raise ValidationError(f"Question {number}: write at least two different options.")
    if len(right) != 1:
        raise ValidationError(f"Question {number}: mark exactly one option as correct, with *.")
    return Question(" ".join(question_lines), options, right[0])


# How many other annotators a rule requires before it may screen anyone out.
OTHERS_NEEDED: dict[str, int] = {Qualification.POINTS_BELOW: 2, Qualification.SDS_BELOW: 5}


def judged_by(rule: str, shots: int, screening: int) -> int:
    """Return the number of examples on which the rule judges annotators, or 0 without a rule."""
    return 0 if rule == Qualification.NONE else shots or screening


def warning(rule: str, shots: Sequence[int], screening: int) -> str:
    """Return a warning if only some arms are judged, otherwise ""."""
    free = [number for number in sorted(shots) if not judged_by(rule, number, screening)]
    judged = [number for number in sorted(shots) if judged_by(rule, number, screening)]
    if not free or not judged:
        return ""
    shots_judged = ", ".join(map(str, judged))
    return (
        f"The screening rule judges annotators with {shots_judged} shots, but not at 0 shots."
        " Screened-out annotators are replaced by annotators who pass, so the judged arms can have"
        " better annotators even without learning. A difference between 0 and more shots can"
        " include this gain."
    )


def screened(rule: str, shots: Sequence[int], screening: int) -> str:
    """Return a sentence about the screening set of zero-shot annotators, or "" if not used."""
    if 0 not in shots or not judged_by(rule, 0, screening):
        return ""
    plural = "" if screening == 1 else "s"
    return (
        f"At 0 shots, the screening rule judges annotators by a screening set: {screening}"
        f" example{plural} of the task's training files that no other arm sees, without a reveal"
        " and excluded from every score."
    )


def check_sets(study: Study, tasks: Sequence[Task], refuse: Any) -> None:
    if study.adjusts_for_anchors and not study.anchor_examples:
        refuse("adjusts_for_anchors", "Needs anchor examples.")
    if study.screening_examples and study.qualification == Qualification.NONE:
        refuse(
            "screening_examples", "Not used without a screening rule. Choose a rule, or enter 0."
        )
    if study.screening_examples and 0 not in study.shots:
        refuse("screening_examples", "Only zero-shot annotators answer them, so add 0 shots.")
    needed = study.anchor_examples + study.screening_examples
    for task in tasks if needed else ():
        unused = len(spare(study, task))
        if unused < needed:
            refuse(
                "screening_examples" if study.screening_examples else "anchor_examples",
                f"{task.name} has {unused} unused examples: training examples that this study does"
                " not show and whose text is not in the test set. Enter a smaller number, or"
                " remove a number of shots or a training split.",
            )


def check_context_free(study: Study, tasks: Sequence[Task], refuse: Any) -> None:
    if not study.context_free_annotators:
        return

    def no(reason: str) -> None:
        refuse("context_free_annotators", f"{reason} Enter 0, or change the design.")

    if 0 not in study.shots:
        no("They are compared with zero-shot annotators, but the design doesn't include 0 shots.")
    if study.is_cross_task:
        no("A cross-task study cannot have them.")
    if study.anchor_examples or study.screening_examples:
        no("Anchor and screening examples are answered with their context.")
    for task in tasks:
        with_question = task.test_split.examples.exclude(question="").order_by()
        if task.card.is_highlighted:
            no(f"{task.name} is answered with spans of the context.")
        elif with_question.values("question").distinct().count() < 2:
            no(f"{task.name} asks the same question about every context.")
