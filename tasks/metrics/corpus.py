"""Test set scores that are not means over examples, as CrossFit computes them.

Predictions are stripped first. Only the first gold of an example is used; an example without gold
raises ValueError.
"""

import math
from collections import Counter
from collections.abc import Hashable, Sequence

ACCEPTABLE = "acceptable"  # of glue-cola, the Gym's only task with the Matthews correlation


def classification_f1(said: Sequence[str], right: Sequence[str]) -> float:
    """Classification-F1: mean F1 of the labels that occur in golds or predictions.

    Labels compare exactly. A label that occurs only in predictions has F1 0 and lowers the mean.
    """
    hits = Counter(a for a, b in zip(said, right, strict=True) if a == b)
    counts = Counter(said) + Counter(right)
    return math.fsum(2 * hits[label] / count for label, count in counts.items()) / len(counts)


def matthews(said: Sequence[float], right: Sequence[float]) -> float:
    """Matthew-Correlation of `acceptable` texts, in [-1, 1]; 0 if a side is constant."""
    return 0.0 if _constant(said) or _constant(right) else correlation(said, right)


def acceptable(texts: Sequence[str]) -> list[float]:
    """Return 1 for "acceptable", else 0."""
    return [float(text == ACCEPTABLE) for text in texts]


def pearson(said: Sequence[float], right: Sequence[float]) -> float:
    """Pearson-Correlation, in [-1, 1], or NaN if a side is constant.

    Raises ValueError for fewer than two examples.
    """
    if len(said) < 2:
        raise ValueError("a correlation takes two examples or more")
    return math.nan if _constant(said) or _constant(right) else correlation(said, right)


def first_golds(
    predictions: Sequence[str], golds: Sequence[Sequence[str]]
) -> tuple[list[str], list[str]]:
    """Return the predictions stripped, and the first gold of each example. Raises ValueError."""
    for place, alternatives in enumerate(golds, 1):
        if not alternatives:
            raise ValueError(f"example {place} has no gold")
    return [text.strip() for text in predictions], [gold[0] for gold in golds]


def as_numbers(texts: Sequence[str]) -> list[float]:
    """Return the texts as finite numbers. Raises ValueError with the number of the example."""
    return [_number(text, place) for place, text in enumerate(texts, 1)]


def _number(text: str, place: int) -> float:
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        raise ValueError(f"example {place}: {text!r} is not a finite number")
    return number


def _constant(numbers: Sequence[float]) -> bool:
    return all(number == numbers[0] for number in numbers)


def correlation(first: Sequence[float], second: Sequence[float]) -> float:
    """Pearson's correlation of two lists that both vary."""
    deviations = []
    for numbers in (first, second):
        mean = math.fsum(numbers) / len(numbers)
        differences = [number - mean for number in numbers]
        # Scaled first, so that squares and products do not overflow.
        largest = max(map(abs, differences))
        scaled = [difference / largest for difference in differences]
        length = math.sqrt(math.fsum(value * value for value in scaled))
        deviations.append([value / length for value in scaled])
    return max(-1.0, min(1.0, math.fsum(a * b for a, b in zip(*deviations, strict=True))))


def members(groups: Sequence[Hashable]) -> list[list[int]]:
    """Return the indexes of each group's examples, groups in order of first appearance."""
    places: dict[Hashable, list[int]] = {}
    for place, group in enumerate(groups):
        places.setdefault(group, []).append(place)
    return list(places.values())
