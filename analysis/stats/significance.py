"""Secondary tests, corrections, attrition and ANCOVA (pure). The primary test is in two_way.py.

These tests are sensitivity analyses. The unit is the annotator when comparing groups of annotators,
and the example when comparing with a model on the same examples. With three annotators per group,
permutation tests cannot reach p < 0.10, so this module also computes the smallest possible p value.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from analysis.heavy import np
from analysis.stats.distributions import t_quantile, t_tail
from analysis.stats.uncertainty import ROUNDING, TAIL, sd

EXACT_UP_TO = 100_000  # splits; beyond this, a seeded sample of this size is used
EXACT_FLIPS = 16  # pairs; 2 to this power is still below EXACT_UP_TO
SAMPLED_FLIPS = EXACT_UP_TO // 10
DRAWN_AT_ONCE = 1 << 20  # bits, each of which takes eight bytes while being drawn
PORTION = 256  # random flips summed at once (must be whole bytes)


def permutation(first: Sequence[float], second: Sequence[float], seed: int = 0) -> float:
    """Return the two-sided p value for a difference in means, over all splits of the values."""
    pooled = np.array([*first, *second], dtype=float)
    observed = abs(np.mean(first) - np.mean(second))
    size, total = len(first), pooled.sum()
    if math.comb(len(pooled), size) <= EXACT_UP_TO:
        indices = np.array(list(itertools.combinations(range(len(pooled)), size)))
        sums = pooled[indices].sum(1)
        added = 0
    else:
        draw = np.random.default_rng(seed)
        sums = np.array([draw.permutation(pooled)[:size].sum() for _ in range(EXACT_UP_TO)])
        added = 1  # the observed split is one of the possible splits
    gaps = np.abs(sums / size - (total - sums) / (len(pooled) - size))
    return float(((gaps >= observed - 1e-12).sum() + added) / (len(gaps) + added))


def smallest_p(first: int, second: int) -> float:
    """Return the smallest two-sided p value that `permutation` can return for these group sizes."""
    splits = math.comb(first + second, first)
    return min(1.0, (2 if first == second else 1) / splits)


def welch(first: Sequence[float], second: Sequence[float]) -> float:
    """Return Welch's two-sided p value, or NaN for fewer than two values or zero variance."""
    spreads = sd(first), sd(second)
    if any(math.isnan(spread) for spread in spreads) or not any(spreads):
        return math.nan
    sizes = len(first), len(second)
    variances = [spread**2 / size for spread, size in zip(spreads, sizes, strict=True)]
    parts = (v * v / (size - 1) for v, size in zip(variances, sizes, strict=True))
    t = abs(np.mean(first) - np.mean(second)) / math.sqrt(sum(variances))
    return float(2 * t_tail(t, sum(variances) ** 2 / sum(parts)))


def holm(values: Sequence[float]) -> list[float]:
    """Return Holm-adjusted p values in the same order. NaN stays NaN and is not counted."""
    order = sorted((p, index) for index, p in enumerate(values) if not math.isnan(p))
    adjusted = [math.nan] * len(values)
    reached = 0.0
    for rank, (p, index) in enumerate(order):
        reached = max(reached, min(1.0, (len(order) - rank) * p))
        adjusted[index] = reached
    return adjusted


def sign_flips(several: Sequence[Sequence[float]], seed: int = 0) -> list[float]:
    """Return the two-sided p value of each list's mean paired difference, by flipping signs.

    Lists with the same number of pairs share one draw of signs.
    """
    gaps = [np.asarray(differences, dtype=float) for differences in several]
    gaps = [values[np.abs(values) > ROUNDING] for values in gaps]
    reached = [0] * len(gaps)
    lengths = {len(values) for values in gaps}
    bits = _bits(SAMPLED_FLIPS * max((n for n in lengths if n > EXACT_FLIPS), default=0), seed)
    for length in lengths:
        alike = [index for index, values in enumerate(gaps) if len(values) == length]
        for signs in _flips(length, bits):
            for index in alike:
                edge = abs(gaps[index].sum()) - 1e-12
                reached[index] += int((np.abs(signs @ gaps[index]) >= edge).sum())
    return [
        (count + 1) / (SAMPLED_FLIPS + 1) if len(values) > EXACT_FLIPS else count / 2 ** len(values)
        for values, count in zip(gaps, reached, strict=True)
    ]


def _bits(number: int, seed: int) -> np.ndarray:
    draw = np.random.default_rng(seed)
    portions = (min(DRAWN_AT_ONCE, number - begin) for begin in range(0, number, DRAWN_AT_ONCE))
    batches = [np.packbits(draw.integers(0, 2, size).astype(bool)) for size in portions]
    return np.concatenate(batches) if batches else np.empty(0, np.uint8)


def _flips(length: int, bits: np.ndarray) -> Iterator[np.ndarray]:
    """Yield signs (-1 or 1) for this many pairs in batches: all combinations or a seeded sample.

    Lists of any length use the first bits of the same draw, so each result is as if drawn alone.
    """
    if length <= EXACT_FLIPS:
        yield np.array(list(itertools.product((-1.0, 1.0), repeat=length)))
        return
    # Use portions that fit in the processor's cache.
    for begin in range(0, SAMPLED_FLIPS, PORTION):
        rows = min(PORTION, SAMPLED_FLIPS - begin)
        flips = np.unpackbits(bits[begin * length // 8 :], count=rows * length)
        yield flips.reshape(rows, length) * 2.0 - 1.0


def smallest_sign_flip_p(differences: Sequence[float]) -> float:
    """Return the smallest possible p value of `sign_flips`, reached if all pairs differ one way."""
    flipped = sum(abs(gap) > ROUNDING for gap in differences)
    if flipped > EXACT_FLIPS:
        return 1 / (SAMPLED_FLIPS + 1)
    return 2.0 ** (1 - max(flipped, 1))


# Attrition: whether more annotators left one arm than the other, and how much this can bias a
# difference (pure). Those who leave may have lower or higher scores than those who stay. Lee (2009)
# bounds the bias.


def fisher(completed: tuple[int, int], began: tuple[int, int]) -> float:
    """Return the two-sided p value of Fisher's exact test for two completion rates.

    This sums over all tables with the same margins that are no more probable than the observed one.
    It is NaN if an arm is empty.

    >>> round(fisher((3, 1), (3, 4)), 3)
    0.143
    """
    if not all(began):
        return math.nan
    total, (first, second) = sum(completed), began
    lowest, highest = max(0, total - second), min(first, total)
    # Use integer arithmetic, so that equally probable tables compare equal.
    tables = [math.comb(first, lowest) * math.comb(second, total - lowest)]
    for k in range(lowest, highest):  # the next table has one more from the first arm
        numerator = (first - k) * (total - k)
        tables.append(tables[-1] * numerator // ((k + 1) * (second - total + k + 1)))
    observed = tables[completed[0] - lowest]
    return sum(ways for ways in tables if ways <= observed) / sum(tables)


def trimmed_share(first: float, second: float) -> float:
    """Return the share to trim, for Lee's bounds, from the arm with the higher completion rate.

    >>> trimmed_share(0.75, 1.0)
    0.25
    """
    return abs(first - second) / max(first, second) if first or second else math.nan


def lee_bounds(
    first: Sequence[float], second: Sequence[float], shares: tuple[float, float]
) -> tuple[float, float]:
    """Return Lee's bounds for mean(second) - mean(first).

    `shares` are the completion rates. The arm with the higher rate includes annotators who would
    have left the other arm. In the extreme cases, their scores are its highest or lowest, so these
    are trimmed. If the number to trim is not an integer, the last score keeps part of its weight.
    NaN if an arm has no scores or if any score is unknown. The bounds assume that annotators who
    completed in the arm with the lower rate would also have completed in the other arm.
    """
    if not first or not second:
        return math.nan, math.nan
    trim = trimmed_share(*shares)
    if shares[0] > shares[1]:
        mean = math.fsum(second) / len(second)
        return mean - _without_lowest(first, trim), mean + _without_lowest(first, trim, -1)
    mean = math.fsum(first) / len(first)
    return -_without_lowest(second, trim, -1) - mean, _without_lowest(second, trim) - mean


def _without_lowest(scores: Sequence[float], share: float, sign: int = 1) -> float:
    """Return the mean of the scores times `sign`, after trimming this share of the lowest."""
    if any(map(math.isnan, scores)):
        return math.nan
    size, total = len(scores) * (1 - share), 0.0
    remaining = size
    for score in sorted((sign * score for score in scores), reverse=True):
        weight = max(0.0, min(1.0, remaining))
        total += weight * score
        remaining -= weight
    return total / size if size > 0 else math.nan


@dataclass(frozen=True)
class Adjusted:
    """A difference between two groups at the same value of a covariate (ANCOVA with one slope).

    If `why_not` gives a reason, the interval and p are NaN. `slope` is the change in score per unit
    of the covariate, and `r` is their correlation, both within groups.
    """

    difference: float = math.nan
    low: float = math.nan
    high: float = math.nan
    p: float = math.nan
    slope: float = math.nan
    r: float = math.nan
    why_not: str = ""


def ancova(
    groups: tuple[Sequence[float], Sequence[float]],
    covariates: tuple[Sequence[float], Sequence[float]] | None = None,
) -> Adjusted:
    """Return the difference second - first from least squares: score ~ group + covariate.

    Without covariates, this is the raw difference with the pooled variance. There are n - 2 degrees
    of freedom, or n - 3 with a covariate.
    """
    scores = [np.asarray(values, dtype=float) for values in groups]
    given = [np.asarray(values, dtype=float) for values in covariates or groups]
    sizes = [len(values) for values in scores]
    df = sum(sizes) - (2 if covariates is None else 3)
    if not all(sizes):
        return Adjusted(why_not="an arm is empty")
    if df < 1:
        return Adjusted(why_not="too few annotators")
    if np.isnan(np.concatenate([*scores, *given])).any():
        return Adjusted(why_not="a score is unknown")
    y = np.concatenate([values - values.mean() for values in scores])
    gap, slope, r, inflation = float(scores[1].mean() - scores[0].mean()), math.nan, math.nan, 0.0
    residual = float(y @ y)
    if covariates is not None:
        x = np.concatenate([values - values.mean() for values in given])
        if np.abs(x).max() <= ROUNDING:
            return Adjusted(why_not="the anchor score is constant within the arms")
        xx, xy, apart = float(x @ x), float(x @ y), float(given[1].mean() - given[0].mean())
        slope = xy / xx
        r = xy / math.sqrt(xx * residual) if residual > ROUNDING else math.nan
        gap, residual, inflation = gap - slope * apart, residual - slope * xy, apart**2 / xx
    if residual <= ROUNDING:
        return Adjusted(gap, slope=slope, r=r, why_not="annotators tie")
    error = math.sqrt(residual / df * (sum(1 / size for size in sizes) + inflation))
    half = t_quantile(TAIL, df) * error
    p = float(2 * t_tail(abs(gap) / error, df))
    return Adjusted(gap, gap - half, gap + half, p, slope, r)
