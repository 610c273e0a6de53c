"""Whether people left one arm more often than another, and what that can do to a difference (pure).

Those who leave an arm may be worse or better than those who stay, so a difference between the
scores that are there may come from who is there. Lee (2009) bounds it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence


def fisher(completed: tuple[int, int], began: tuple[int, int]) -> float:
    """The two-sided p of Fisher's exact test of two completion shares; NaN where an arm is empty.

    The probability of all tables with these margins that are at most as probable as this one.

    >>> round(fisher((3, 1), (3, 4)), 3)
    0.143
    """
    if not all(began):
        return math.nan
    done, (first, second) = sum(completed), began
    lowest, highest = max(0, done - second), min(first, done)
    # Tables in whole numbers, so that equally probable ones are exactly equal.
    tables = [math.comb(first, lowest) * math.comb(second, done - lowest)]
    for one in range(lowest, highest):  # the next has one more of the first arm
        more = (first - one) * (done - one)
        tables.append(tables[-1] * more // ((one + 1) * (second - done + one + 1)))
    observed = tables[completed[0] - lowest]
    return sum(ways for ways in tables if ways <= observed) / sum(tables)


def trimmed_share(first: float, second: float) -> float:
    """The share of the arm with the higher completion share that Lee's bounds trim.

    >>> trimmed_share(0.75, 1.0)
    0.25
    """
    return abs(first - second) / max(first, second) if first or second else math.nan


def lee_bounds(
    first: Sequence[float], second: Sequence[float], shares: tuple[float, float]
) -> tuple[float, float]:
    """The bounds of the mean of `second` minus that of `first`, with these completion shares.

    The arm with the higher share holds people who would have left the other one. They are at most
    its highest scores, or its lowest, so these are trimmed. Where the number to trim is not whole,
    the last score is trimmed in part: it keeps the rest of its weight. NaN where an arm has no
    score, or one that is not known. The bounds hold if no one completes in the arm with the lower
    share who would not have completed in the other.
    """
    if not first or not second:
        return math.nan, math.nan
    trim = trimmed_share(*shares)
    if shares[0] > shares[1]:
        mean = math.fsum(second) / len(second)
        return mean - _without_lowest(first, trim), mean + _without_lowest(_negative(first), trim)
    mean = math.fsum(first) / len(first)
    return -_without_lowest(_negative(second), trim) - mean, _without_lowest(second, trim) - mean


def _negative(scores: Sequence[float]) -> list[float]:
    return [-score for score in scores]


def _without_lowest(scores: Sequence[float], share: float) -> float:
    """The mean of the scores without the lowest `share` of them."""
    if any(map(math.isnan, scores)):
        return math.nan
    left, total = len(scores) * (1 - share), 0.0
    rest = left
    for score in sorted(scores, reverse=True):
        weight = min(1.0, rest)
        total += weight * score
        rest -= weight
        if rest <= 0:
            break
    return total / left if left > 0 else math.nan
