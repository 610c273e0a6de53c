"""Scores of a whole test set that are no mean over its examples, as CrossFit computes them.

Predictions are stripped first. Only the first gold of an example counts; one without any gold is
a ValueError that names it.
"""

import math
from collections.abc import Sequence

ACCEPTABLE = "acceptable"  # of glue-cola, the only task of the Gym that is scored by Matthews


def classification_f1(predictions: Sequence[str], golds: Sequence[Sequence[str]]) -> float:
    """Classification-F1: mean of the F1 of every label that stands in golds or predictions.

    Labels compare exactly. A label that only the predictions hold has F1 0 and lowers the mean.
    """
    said, right = first_golds(predictions, golds)
    labels = {*said, *right}
    return math.fsum(_f1_of_label(label, said, right) for label in labels) / len(labels)


def _f1_of_label(label: str, said: Sequence[str], right: Sequence[str]) -> float:
    hits = sum(a == b == label for a, b in zip(said, right, strict=True))
    # Neither list is without it: 2 * hits + misses + false alarms is at least 1.
    return 2 * hits / (said.count(label) + right.count(label))


def matthews(predictions: Sequence[str], golds: Sequence[Sequence[str]]) -> float:
    """Matthew-Correlation, in [-1, 1]: of "acceptable" against all else; 0 if one is constant."""
    said, right = (
        [is_acceptable(text) for text in texts] for texts in first_golds(predictions, golds)
    )
    if _constant(said) or _constant(right):
        return 0.0
    return correlation(said, right)


def is_acceptable(text: str) -> float:
    """What Matthews knows of a text: 1 for "acceptable", else 0."""
    return float(text == ACCEPTABLE)


def pearson(predictions: Sequence[str], golds: Sequence[Sequence[str]]) -> float:
    """Pearson-Correlation, in [-1, 1]: of the texts as numbers; NaN where one side is constant.

    Raises ValueError for fewer than two examples, and for a text that is no finite number.
    """
    said, right = map(as_numbers, first_golds(predictions, golds))
    if len(said) < 2:
        raise ValueError("a correlation takes two examples or more")
    if _constant(said) or _constant(right):
        return math.nan
    return correlation(said, right)


def first_golds(
    predictions: Sequence[str], golds: Sequence[Sequence[str]]
) -> tuple[list[str], list[str]]:
    """The predictions stripped, and the first gold of each example."""
    for place, alternatives in enumerate(golds, 1):
        if not alternatives:
            raise ValueError(f"example {place} has no gold")
    return [text.strip() for text in predictions], [gold[0] for gold in golds]


def as_numbers(texts: Sequence[str]) -> list[float]:
    """The texts as finite numbers. Raises ValueError naming the example of one that is none."""
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
    """Pearson's, of two lists that both vary."""
    deviations = []
    for numbers in (first, second):
        mean = math.fsum(numbers) / len(numbers)
        differences = [number - mean for number in numbers]
        # Scaled first, so that neither squares nor their product leave the range of a float.
        largest = max(map(abs, differences))
        scaled = [difference / largest for difference in differences]
        length = math.sqrt(math.fsum(value * value for value in scaled))
        deviations.append([value / length for value in scaled])
    return max(-1.0, min(1.0, math.fsum(a * b for a, b in zip(*deviations, strict=True))))
