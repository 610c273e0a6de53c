"""Attention checks: marked examples among the test examples, which never count towards S1.

They are read from a separate file in the published format, which is attached to a task version.
Each check states its correct answer in its text (or in its question, if that cannot be copied), so
it tests attention rather than knowledge (docs/prolific.md#prolifics-constraints).
"""

import random
import tempfile
from pathlib import Path

from django.contrib.auth.models import User
from django.db import transaction

from annotation.models import Answer, Participation, Step
from tasks import checking
from tasks.formats import FormatError, Record
from tasks.importing import examples_of
from tasks.models import Example, Split, Task


def import_checks(task: Task, path: Path) -> Split:
    """Attach the checks in a JSON Lines file to a task version.

    Raises FormatError, including if the task already has checks, because checks never change.
    Raises checking.Busy while another upload is being checked.
    """
    try:
        card = task.card.as_dict() | {"question_types": []}  # a check may ask its own question
        reply = checking.run("records", waits=True, path=str(path), card=card)
    except checking.TooComplex as error:
        raise FormatError(path.name, str(error)) from None
    if "error" in reply:
        raise FormatError(*reply["error"])
    records = [Record(**item) for item in reply["records"]]  # with lists instead of tuples
    if task.splits.filter(kind=Split.Kind.CHECK).exists():
        raise FormatError(path.name, f"{task} already has attention checks")
    for number, record in enumerate(records, start=1):
        if not record.gold and not task.card.no_answer:
            raise FormatError(
                path.name, "an attention check must include its answer", number, "answer"
            )
    with transaction.atomic():
        split = Split.objects.create(task=task, kind=Split.Kind.CHECK, filename=path.name)
        Example.objects.bulk_create(examples_of(split, records))
    return split


def import_upload(task: Task, filename: str, content: bytes, by: User) -> Split:
    """Attach the checks in an uploaded file. Raises FormatError or checking.Busy."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / filename
        path.write_bytes(content)
        with checking.one_of(by.pk):
            return import_checks(task, path)


def mix_in(participation: Participation, seed: str) -> None:
    """Insert the study's number of checks into the annotation order, spread evenly.

    Each check gets a random position in its own section, except the first, so no two are adjacent.
    The context of a check contains the answer, so annotators without contexts get no checks.
    """
    is_alone = participation.scenario.hides_context
    number = 0 if is_alone else participation.study.attention_checks
    pool = list(
        Example.objects.filter(
            split__task=participation.scenario.task, split__kind=Split.Kind.CHECK
        ).order_by("position").values_list("pk", flat=True)
    )  # fmt: skip
    if not number or not pool:
        return
    rng = random.Random(seed)
    checks = rng.sample(pool, min(number, len(pool)))
    order = list(participation.annotation_order)
    stretch = len(order) / len(checks)
    slack = max(stretch - 1, 0)
    places = [1 + int(index * stretch + rng.random() * slack) for index in range(len(checks))]
    for place, check in sorted(zip(places, checks, strict=True), reverse=True):
        order.insert(place, check)
    participation.annotation_order = order
    participation.checks = checks


def results(participation: Participation) -> tuple[int, int]:
    scores = Answer.objects.filter(
        turn__participation=participation, turn__step=Step.CHECK
    ).values_list("s1", flat=True)
    return sum(s1 == 1 for s1 in scores), len(scores)
