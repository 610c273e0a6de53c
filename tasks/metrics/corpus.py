"""Test-set scores that aren't means over examples, as computed by CrossFit.

Predictions are stripped, and only the first gold answer counts. Raises ValueError without gold.
"""

import math
from collections import Counter
from collections.abc import Callable, Hashable, Sequence

from tasks.columns import grouped

ACCEPTABLE = "acceptable"  # label in glue-cola, the Gym's only task with the Matthews correlation


def classification_f1(predictions: Sequence[str], golds: Sequence[Sequence[str]]) -> float:
    """Return the mean F1 over all gold and predicted labels, compared exactly as spelt."""
    predicted, right = first_golds(predictions, golds)
    hits = Counter(a for a, b in zip(predicted, right, strict=True) if a == b)
    counts = Counter(predicted) + Counter(right)
    return math.fsum(2 * hits[label] / n for label, n in counts.items()) / len(counts)


def matthews(predictions: Sequence[str], golds: Sequence[Sequence[str]]) -> float:
    """Return Matthew-Correlation of "acceptable" in [-1, 1], or 0 if either side is constant."""
    sides = ([is_acceptable(text) for text in side] for side in first_golds(predictions, golds))
    value = _correlation(*sides)
    return 0.0 if math.isnan(value) else value


def is_acceptable(text: str) -> float:
    return float(text == ACCEPTABLE)


def pearson(predictions: Sequence[str], golds: Sequence[Sequence[str]]) -> float:
    """Return Pearson-Correlation in [-1, 1] of the texts as numbers, or NaN if a side is constant.

    Raises ValueError for fewer than two examples, and for texts that are not finite numbers.
    """
    predicted, right = map(as_numbers, first_golds(predictions, golds))
    if len(predicted) < 2:
        raise ValueError("a correlation takes two examples or more")
    return _correlation(predicted, right)


def first_golds(
    predictions: Sequence[str], golds: Sequence[Sequence[str]]
) -> tuple[list[str], list[str]]:
    """Return the stripped predictions and the first gold answers. Raises ValueError."""
    for place, alternatives in enumerate(golds, 1):
        if not alternatives:
            raise ValueError(f"example {place} has no gold")
    return [text.strip() for text in predictions], [gold[0] for gold in golds]


def as_numbers(texts: Sequence[str]) -> list[float]:
    """Convert texts to finite numbers. Raises ValueError with the number of the example."""
    return [_number(text, place) for place, text in enumerate(texts, 1)]


def _number(text: str, place: int) -> float:
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        raise ValueError(f"example {place}: {text!r} is not a finite number")
    return number


def _correlation(first: Sequence[float], second: Sequence[float]) -> float:
    """Return Pearson's correlation, or NaN if either side is constant."""
    deviations = []
    for numbers in (first, second):
        if min(numbers) == max(numbers):
            return math.nan
        scaled = _centred(numbers)
        length = math.sqrt(math.fsum(value * value for value in scaled))
        deviations.append([value / length for value in scaled])
    return max(-1.0, min(1.0, math.fsum(a * b for a, b in zip(*deviations, strict=True))))


# Without each group -----------------------------------------------------------------------------

# A group consists of all examples with the same context. Each function returns one number per
# group, in order of first appearance: the metric of the remaining examples, up to rounding, or NaN
# if it is undefined or none remain. Values are updated from totals instead of being recomputed.
Left = Callable[[Sequence[str], Sequence[Sequence[str]], Sequence[Hashable]], list[float]]
TOO_CLOSE = 1e-9  # fraction of the sum of squares below which subtraction loses too many digits


def members(groups: Sequence[Hashable]) -> list[list[int]]:
    """Return the indexes of each group's examples, in order of first appearance."""
    return list(grouped((group, place) for place, group in enumerate(groups)).values())


def classification_f1_without(
    predictions: Sequence[str], golds: Sequence[Sequence[str]], groups: Sequence[Hashable]
) -> list[float]:
    """Return Classification-F1 without each group, recomputing only the F1 of its labels."""
    predicted, right = first_golds(predictions, golds)
    hits = Counter(a for a, b in zip(predicted, right, strict=True) if a == b)
    counts = Counter(predicted) + Counter(right)
    f1 = {label: 2 * hits[label] / count for label, count in counts.items()}
    total = math.fsum(f1.values())
    values = []
    for group in members(groups):
        removed = Counter(text for place in group for text in (predicted[place], right[place]))
        lost = Counter(predicted[place] for place in group if predicted[place] == right[place])
        remaining, labels = total, len(counts)
        for label, count in removed.items():
            rest = counts[label] - count
            remaining -= f1[label]
            if rest:
                remaining += 2 * (hits[label] - lost[label]) / rest
            else:
                labels -= 1
        values.append(max(0.0, remaining / labels) if labels else math.nan)
    return values


def matthews_without(
    predictions: Sequence[str], golds: Sequence[Sequence[str]], groups: Sequence[Hashable]
) -> list[float]:
    """Return the exact Matthew-Correlation without each group, from integer counts."""
    predicted, right = (
        [int(is_acceptable(text)) for text in texts] for texts in first_golds(predictions, golds)
    )
    products = [a * b for a, b in zip(predicted, right, strict=True)]
    sums = [sum(values) for values in (predicted, right, products)]
    values = []
    for group in members(groups):
        n = len(predicted) - len(group)
        a, b, ab = (
            total - sum(column[place] for place in group)
            for total, column in zip(sums, (predicted, right, products), strict=True)
        )
        spread = a * (n - a) * b * (n - b)
        if not n:
            values.append(math.nan)
        else:
            values.append((n * ab - a * b) / math.sqrt(spread) if spread else 0.0)
    return values


def pearson_without(
    predictions: Sequence[str], golds: Sequence[Sequence[str]], groups: Sequence[Hashable]
) -> list[float]:
    """Return Pearson-Correlation without each group, from sums of the centred numbers.

    It is NaN if either side is constant. If a group accounts for most of the variance, the rest is
    recomputed.
    """
    sides = [as_numbers(texts) for texts in first_golds(predictions, golds)]
    if any(len(set(side)) == 1 for side in sides):
        return [math.nan] * len(members(groups))
    first, second = (_centred(side) for side in sides)
    counts = [Counter(side) for side in sides]
    columns = [first, second]
    columns += [
        [a * b for a, b in zip(*pair, strict=True)]
        for pair in ((first, first), (second, second), (first, second))
    ]
    sums = [math.fsum(column) for column in columns]
    values = []
    for group in members(groups):
        n = len(first) - len(group)
        if n < 2 or any(
            _is_constant(count, side, group) for count, side in zip(counts, sides, strict=True)
        ):
            values.append(math.nan)
            continue
        x, y, xx, yy, xy = (
            total - math.fsum(column[place] for place in group)
            for total, column in zip(sums, columns, strict=True)
        )
        of_first, of_second = xx - x * x / n, yy - y * y / n
        if of_first <= TOO_CLOSE * sums[2] or of_second <= TOO_CLOSE * sums[3]:
            rest = sorted(set(range(len(first))) - set(group))
            values.append(
                pearson([predictions[place] for place in rest], [golds[place] for place in rest])
            )
        else:
            r = (xy - x * y / n) / math.sqrt(of_first * of_second)
            values.append(max(-1.0, min(1.0, r)))
    return values


def _centred(numbers: Sequence[float]) -> list[float]:
    """Return deviations from the mean, scaled to at most 1, so that squares do not overflow."""
    mean = math.fsum(numbers) / len(numbers)
    largest = max(abs(number - mean) for number in numbers)
    return [(number - mean) / largest for number in numbers]


def _is_constant(count: Counter[float], side: Sequence[float], group: Sequence[int]) -> bool:
    removed = Counter(side[place] for place in group)
    return len(count) - sum(times == count[value] for value, times in removed.items()) == 1
