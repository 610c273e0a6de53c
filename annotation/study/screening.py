"""The screening set: unrevealed examples that judge zero-shot annotators.

It is drawn for each task from training files, so that it resembles what judges the other arms. No
arm of the study shows its examples elsewhere. Once the study is open, hashes in its manifest
identify them.
"""

import json
import random
from collections.abc import Callable, Iterable

from annotation.models import Study
from tasks.models import Example, Split, Task


def examples(study: Study, task: Task) -> list[Example]:
    """Return the screening set of that task: from the manifest, or as drawn now for a draft.

    Empty if the design has none; smaller than designed if the task has no more examples.
    """
    if not study.screening_examples:
        return []
    if study.manifest:
        hashes = json.loads(study.manifest)["screening_hashes"][task.name]
        kept = {example.content_hash: example for example in reversed(_training(task))}
        return [kept[digest] for digest in hashes]
    return spare(study, task)[: study.screening_examples]


def spare(study: Study, task: Task) -> list[Example]:
    """Return candidates for a screening set, in the order drawn by the study's seed.

    Training examples in no training file of the study, and without a text of the test or checks, so
    that zero-shot annotators see no such text early. Compared by text and question, never by gold.
    Examples and ids are unique, so that task and id identify an example of the set in exports.
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
    """Return all examples of the task's training files, file by file."""
    of_files = Example.objects.filter(split__task=task, split__kind=Split.Kind.TRAIN)
    order = ("split__shots", "split__number", "position")
    return list(of_files.select_related("split").order_by(*order))


def _texts(task: Task) -> Iterable[list[str]]:
    """Yield the contexts of the test and of the attention checks."""
    of_files = Example.objects.filter(split__task=task).exclude(split__kind=Split.Kind.TRAIN)
    return of_files.order_by().values_list("context", flat=True)


def _asked(example: Example) -> str:
    return json.dumps([example.context, example.question, example.options])


def _once(pool: list[Example], key: Callable[[Example], str]) -> list[Example]:
    """Return the first example of each key."""
    first: dict[str, Example] = {}
    for example in pool:
        first.setdefault(key(example), example)
    return list(first.values())
