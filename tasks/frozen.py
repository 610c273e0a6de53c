"""Imported data that never change, cached in each process. `clear` empties the caches.

Models read the data through this module. Tasks are identified by their content hash.
"""

import math
import statistics
from functools import lru_cache
from typing import TYPE_CHECKING

from django.apps import apps

from tasks.cards import Card, parse_card
from tasks.formats import digest_of
from tasks.metrics.test_sets import by_chance

if TYPE_CHECKING:
    from tasks.models import Example, Task

_cards: dict[str, Card] = {}
_test_hashes: dict[str, str] = {}
_words: dict[str, int] = {}
_chances: dict[str, float] = {}
_set_ceilings: dict[str, float] = {}
WORDS_OF = 500  # number of examples, which is sufficient for a median


def card(task: "Task") -> Card:
    if task.content_hash not in _cards:
        _cards[task.content_hash] = parse_card(task.card_data, f"card of {task}")
    return _cards[task.content_hash]


def test_hash(task: "Task") -> str:
    """Return the SHA-256 of the content hashes of the test file's examples, in order."""
    if task.content_hash not in _test_hashes:
        examples = task.test_split.examples.order_by("position")
        _test_hashes[task.content_hash] = digest_of(examples.values_list("content_hash", flat=True))
    return _test_hashes[task.content_hash]


def set_ceiling(task: "Task") -> float:
    """Return the highest mean S1 with golds as one set. NaN unless the golds are alternatives."""
    if task.card.gold_rule != "any_of":
        return math.nan
    if task.content_hash not in _set_ceilings:
        golds = task.test_split.examples.values_list("gold", flat=True)
        sizes = [len(set(gold)) for gold in golds]
        most = task.card.max_spans or max(sizes) if task.card.is_highlighted else 1
        scores = [
            2 * min(most, size) / (min(most, size) + size) if size else float(task.card.no_answer)
            for size in sizes
        ]
        _set_ceilings[task.content_hash] = math.fsum(scores) / len(scores)
    return _set_ceilings[task.content_hash]


def chance(task: "Task") -> float:
    """Return the expected score of a random label or option under the card's metric, at most 1."""
    if task.content_hash not in _chances:
        examples = task.test_split.examples.order_by("position").values_list("options", "gold")
        labels = [label.name for label in task.card.labels]
        choices, golds = zip(
            *((labels or options, gold) for options, gold in examples), strict=True
        )
        no_answer = task.card.no_answer and not labels  # a label is always chosen
        _chances[task.content_hash] = by_chance(
            task.card.metric, choices, golds, task.card.gold_rule, no_answer
        )
    return _chances[task.content_hash]


def median_words(task: "Task") -> int:
    if task.content_hash not in _words:
        examples = task.test_split.examples.order_by("position")[:WORDS_OF]
        _words[task.content_hash] = round(
            statistics.median(
                sum(len(text.split()) for text in (*context, task.card.wording(question)))
                for context, question in examples.values_list("context", "question")
            )
        )
    return _words[task.content_hash]


@lru_cache(maxsize=4096)
def example(pk: int) -> "Example":
    """Return an example. Raises Example.DoesNotExist."""
    return apps.get_model("tasks", "Example").objects.get(pk=pk)


@lru_cache(maxsize=4096)
def card_of_example(pk: int) -> Card:
    """Return the card of an example's task. Raises Example.DoesNotExist."""
    examples = apps.get_model("tasks", "Example").objects
    return card(examples.select_related("split__task").get(pk=pk).split.task)


def clear() -> None:
    """Empty the caches. Tests need this, because they reuse the keys of rolled-back rows."""
    _cards.clear()
    _test_hashes.clear()
    _words.clear()
    _chances.clear()
    _set_ceilings.clear()
    example.cache_clear()
    card_of_example.cache_clear()
