"""How far annotators agree with each other, whatever the gold (pure).

A unit is one example: the answers of those who gave one, each a set of texts. Two empty sets are
equal, an empty and another set wholly different, under every distance. Units with fewer than two
answers drop out. Source: Krippendorff 2011, "Computing Krippendorff's alpha-reliability"; MASI:
Passonneau 2006.
"""

import itertools
import math
from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import Any

from tasks.metrics import s1

Answer = frozenset[str]
Distance = Callable[[Any, Any], float]


def nominal(first: Hashable, second: Hashable) -> float:
    """0 for equal answers, else 1."""
    return float(first != second)


def jaccard(first: Answer, second: Answer) -> float:
    """1 - |intersection| / |union|."""
    together = first | second
    return 1 - len(first & second) / len(together) if together else 0.0


def masi(first: Answer, second: Answer) -> float:
    """1 - J M: M is 1 for equal sets, 2/3 where one holds the other, 1/3 if they overlap, else 0.

    An empty set is held by every set, and yet shares nothing: J is 0 then.
    """
    if first == second:
        return 0.0
    shared = first & second
    closeness = 2 / 3 if shared in (first, second) else 1 / 3 if shared else 0.0
    return 1 - closeness * (1 - jaccard(first, second))


def one_minus_s1(first: Answer, second: Answer) -> float:
    """The task's own metric as a distance (S1 is symmetric)."""
    return 1 - s1(first, second)


DISTANCES: dict[str, Distance] = {
    "nominal": nominal,
    "Jaccard": jaccard,
    "MASI": masi,
    "1 - S1": one_minus_s1,
}


def alpha(units: Iterable[Sequence[Hashable]], distance: Distance = nominal) -> float | None:
    """Krippendorff's alpha, 1 - observed / expected disagreement; None where nothing varies.

    Our own, because the package krippendorff cannot take answers that are sets.
    """
    paired = [list(unit) for unit in units if len(unit) >= 2]
    values = Counter(answer for unit in paired for answer in unit)
    total = sum(values.values())
    if len(values) < 2:
        return None
    observed = sum(len(unit) * (observed_disagreement(unit, distance) or 0.0) for unit in paired)
    if all(isinstance(value, frozenset) for value in values):
        expected = _between_sets(values, distance)
    else:
        expected = sum(
            2 * values[a] * values[b] * distance(a, b) for a, b in itertools.combinations(values, 2)
        )
    return 1 - (observed / total) / (expected / (total * (total - 1)))


def observed_disagreement(unit: Sequence[Hashable], distance: Distance = nominal) -> float | None:
    """The mean distance over all pairs of answers to one example; None for fewer than two.

    The observed disagreement of alpha is the mean of these over the examples, each weighted by its
    number of answers.
    """
    # Most units are unanimous or nearly so: each pair of different answers is worked out once.
    counts, pairs = Counter(unit), math.comb(len(unit), 2)
    apart = (counts[a] * counts[b] * distance(a, b) for a, b in itertools.combinations(counts, 2))
    return sum(apart) / pairs if pairs else None


def _between_sets(values: Counter[Any], distance: Distance) -> float:
    """The sum of distances over all ordered pairs of different answers.

    Sets without a common text are at distance 1, and nearly all pairs are such: only the others,
    found by their texts, are looked at.
    """
    holding = defaultdict(list)
    for value in values:
        for text in value:
            holding[text].append(value)
    near = {
        frozenset(pair) for having in holding.values() for pair in itertools.combinations(having, 2)
    }
    total = sum(values.values())
    apart = total**2 - sum(count**2 for count in values.values())
    return apart - sum(
        2 * values[a] * values[b] * (1 - distance(a, b)) for a, b in map(tuple, near)
    )


def pairwise_s1(unit: Sequence[Answer]) -> float | None:
    """The mean S1 over all pairs of answers to one example; None for fewer than two."""
    apart = observed_disagreement(unit, one_minus_s1)
    return None if apart is None else 1 - apart


def mean_pairwise_s1(units: Iterable[Sequence[Answer]]) -> float | None:
    """The mean over examples of their pairwise S1; None where nobody answered twice."""
    means = [value for value in map(pairwise_s1, units) if value is not None]
    return sum(means) / len(means) if means else None
