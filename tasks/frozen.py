"""Imported data that never changes, cached in each process. `clear` empties the caches.

Models read the data through this module. Tasks are identified by their content hash.
"""

import math
import statistics
from collections.abc import Callable
from functools import lru_cache, wraps
from typing import TYPE_CHECKING, Any, TypeVar

from django.apps import apps

from tasks.cards import Card, parse_card
from tasks.formats import digest_of
from tasks.metrics.test_sets import by_chance

if TYPE_CHECKING:
    from tasks.models import Example, Task

Value = TypeVar("Value")
_cache: dict[tuple[Any, ...], Any] = {}  # by function, content hash and arguments
WORDS_OF = 500  # number of examples, which is enough for a median


def _by_content(compute: Callable[..., Value]) -> Callable[..., Value]:
    """Cache a function of a task by the content of the task."""

    @wraps(compute)
    def cached(task: "Task", *args: Any) -> Value:
        key = (compute.__name__, task.content_hash, *args)
        if key not in _cache:
            _cache[key] = compute(task, *args)
        return _cache[key]

    return cached


@_by_content
def card(task: "Task") -> Card:
    return parse_card(task.card_data, f"card of {task}")


@_by_content
def test_hash(task: "Task") -> str:
    """Return the SHA-256 of the content hashes of the test examples, in file order."""
    examples = task.test_split.examples.order_by("position")
    return digest_of(examples.values_list("content_hash", flat=True))


@_by_content
def set_ceiling(task: "Task") -> float:
    """Return the highest mean S1 with gold as one set, or NaN unless the rule is any_of."""
    if task.card.gold_rule != "any_of":
        return math.nan
    golds = task.test_split.examples.values_list("gold", flat=True)
    sizes = [len(set(gold)) for gold in golds]
    limit = task.card.max_spans or max(sizes) if task.card.is_highlighted else 1
    return statistics.fmean(
        2 * min(limit, size) / (min(limit, size) + size) if size else float(task.card.no_answer)
        for size in sizes
    )


@_by_content
def chance(task: "Task") -> float:
    """Return the expected score of a random label or option under the card's metric, at most 1."""
    examples = task.test_split.examples.order_by("position").values_list("options", "gold")
    labels = [label.name for label in task.card.labels]
    choices, golds = zip(*((labels or options, gold) for options, gold in examples), strict=True)
    no_answer = task.card.no_answer and not labels  # choosing a label is always required
    return by_chance(task.card.metric, choices, golds, task.card.gold_rule, no_answer)


@_by_content
def median_words(task: "Task", has_contexts: bool = True) -> int:
    examples = task.test_split.examples.order_by("position")[:WORDS_OF]
    lengths = (
        sum(len(text.split()) for text in (*context * has_contexts, task.card.wording(question)))
        for context, question in examples.values_list("context", "question")
    )
    return round(statistics.median(lengths))


@lru_cache(maxsize=4096)
def example(pk: int) -> "Example":
    """Return an example. Raises Example.DoesNotExist."""
    return apps.get_model("tasks", "Example").objects.get(pk=pk)


@lru_cache(maxsize=4096)
def card_of_example(pk: int) -> Card:
    """Return the card for an example's task. Raises Example.DoesNotExist."""
    examples = apps.get_model("tasks", "Example").objects
    return card(examples.select_related("split__task").get(pk=pk).split.task)


def clear() -> None:
    """Empty the caches. Tests need this, because they reuse the keys of rows rolled back."""
    _cache.clear()
    example.cache_clear()
    card_of_example.cache_clear()
