"""The screening set: examples by which zero-shot annotators are judged, and which nobody reveals.

It is drawn from training files of the task, so it is of the same kind as what the other arms are
judged by, and for each task apart. No arm of the study meets its examples elsewhere. Once the study
is open, the hashes in its manifest say which they are.
"""

import json
import random
from collections.abc import Callable, Iterable

from annotation.models import Study
from tasks.models import Example, Split, Task


def examples(study: Study, task: Task) -> list[Example]:
    """The screening set of that task: frozen in the manifest, of a draft as drawn now.

    Empty where the design has none; fewer than the design asks for where the task has no more.
    """
    if not study.screening_examples:
        return []
    if study.manifest:
        hashes = json.loads(study.manifest)["screening_hashes"][task.name]
        kept = {example.content_hash: example for example in reversed(_training(task))}
        return [kept[digest] for digest in hashes]
    return spare(study, task)[: study.screening_examples]


def spare(study: Study, task: Task) -> list[Example]:
    """What a screening set can be drawn from, in the order that the study's seed draws.

    Training examples that stand in no training file of the study, and whose text stands not in the
    test: so no zero-shot annotator meets a test text early. Compared by text and question, never by
    gold. Each example once, and each id, so that task and id name an example of the set in exports.
    """
    shown = {(shots, number) for shots in study.shots for number in study.splits}
    pool = _training(task)
    used = {_asked(each) for each in pool if (each.split.shots, each.split.number) in shown}
    tested = {json.dumps(context) for context in _texts(task)}
    pool = [
        each
        for each in _once(pool, _asked)
        if _asked(each) not in used and json.dumps(each.context) not in tested
    ]
    random.Random(f"{study.seed}:{task.name}:screening").shuffle(pool)
    return _once(pool, lambda example: example.source_id)


def _training(task: Task) -> list[Example]:
    """All examples of the task's training files, file by file."""
    of_files = Example.objects.filter(split__task=task, split__kind=Split.Kind.TRAIN)
    order = ("split__shots", "split__number", "position")
    return list(of_files.select_related("split").order_by(*order))


def _texts(task: Task) -> Iterable[list[str]]:
    """The contexts of the test and of the attention checks."""
    of_files = Example.objects.filter(split__task=task).exclude(split__kind=Split.Kind.TRAIN)
    return of_files.order_by().values_list("context", flat=True)


def _asked(example: Example) -> str:
    return json.dumps([example.context, example.question, example.options])


def _once(pool: list[Example], key: Callable[[Example], str]) -> list[Example]:
    """The first example of each key."""
    first: dict[str, Example] = {}
    for example in pool:
        first.setdefault(key(example), example)
    return list(first.values())
