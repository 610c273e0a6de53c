"""Is a difference more than chance, and how small a difference could a design have shown? (pure)

Between groups of annotators the annotator is the unit; against a model on the same examples, the
example is. With three annotators a group no permutation test can go below p = 0.10, and the
functions here say so.
"""

import bisect
import itertools
import math
from collections.abc import Sequence

import numpy as np
from scipy import optimize, stats

from analysis.stats.uncertainty import sd

EXACT_UP_TO = 100_000  # splits or sign flips; beyond, a seeded sample of as many
PORTION = 250  # random flips that are added up at a time


def permutation(first: Sequence[float], second: Sequence[float], seed: int = 0) -> float:
    """The two-sided p of a difference in means, over all ways to split the pooled values.

    Our own, because scipy's `permutation_test` doubles the smaller tail, which is another p.
    """
    pooled = np.array([*first, *second], dtype=float)
    observed = abs(np.mean(first) - np.mean(second))
    size, total = len(first), pooled.sum()
    if math.comb(len(pooled), size) <= EXACT_UP_TO:
        chosen = np.array(list(itertools.combinations(range(len(pooled)), size)))
        sums = pooled[chosen].sum(1)
        added = 0
    else:
        draw = np.random.default_rng(seed)
        sums = np.array([draw.permutation(pooled)[:size].sum() for _ in range(EXACT_UP_TO)])
        added = 1  # the observed split is one of those that could have been drawn
    gaps = np.abs(sums / size - (total - sums) / (len(pooled) - size))
    return float(((gaps >= observed - 1e-12).sum() + added) / (len(gaps) + added))


def smallest_p(first: int, second: int) -> float:
    """The smallest two-sided p that `permutation` can give for groups of these sizes."""
    splits = math.comb(first + second, first)
    return min(1.0, (2 if first == second else 1) / splits)


def welch(first: Sequence[float], second: Sequence[float]) -> float:
    """Welch's two-sided p; NaN where a group has fewer than two values or nothing varies."""
    spreads = sd(first), sd(second)
    if any(math.isnan(spread) for spread in spreads) or not any(spreads):
        return math.nan
    return float(
        stats.ttest_ind_from_stats(
            np.mean(first), spreads[0], len(first),
            np.mean(second), spreads[1], len(second),
            equal_var=False,
        ).pvalue
    )  # fmt: skip


def holm(values: Sequence[float]) -> list[float]:
    """Holm's adjusted p values, in the order given; NaN stays NaN and does not count.

    Our own, because scipy has Benjamini's corrections alone, and statsmodels is large for one.
    """
    order = sorted((p, index) for index, p in enumerate(values) if not math.isnan(p))
    adjusted = [math.nan] * len(values)
    reached = 0.0
    for rank, (p, index) in enumerate(order):
        reached = max(reached, min(1.0, (len(order) - rank) * p))
        adjusted[index] = reached
    return adjusted


def sign_flip(differences: Sequence[float], seed: int = 0) -> float:
    """The two-sided p of a mean difference between pairs, by flipping signs.

    Our own, because scipy's `permutation_test` doubles the smaller tail, which is another p.
    """
    gaps = np.asarray(differences, dtype=float)
    gaps = gaps[gaps != 0]
    if not len(gaps):
        return 1.0
    edge = abs(gaps.sum()) - 1e-12
    if 2 ** len(gaps) <= EXACT_UP_TO:
        signs = np.array(list(itertools.product((-1, 1), repeat=len(gaps))))
        return float((np.abs(signs @ gaps) >= edge).mean())
    draw, total, reached = np.random.default_rng(seed), EXACT_UP_TO // 10, 0
    # In portions that fit into the processor's cache; the signs are those of one draw of all.
    for begin in range(0, total, PORTION):
        signs = draw.choice((-1, 1), (min(PORTION, total - begin), len(gaps)))
        reached += int((np.abs(signs @ gaps) >= edge).sum())
    return (reached + 1) / (total + 1)


def power(difference: float, n: int, level: float = 0.05) -> float:
    """Power of the two-sided two-sample t test, n in each group, `difference` in SDs."""
    df = 2 * n - 2
    shift = difference * math.sqrt(n / 2)
    edge = stats.t.ppf(1 - level / 2, df)
    # The far tail is too small for a number where the shift is large.
    return float(stats.nct.sf(edge, df, shift) + np.nan_to_num(stats.nct.cdf(-edge, df, shift)))


def detectable(n: int, level: float = 0.05, wanted: float = 0.8) -> float:
    """The smallest difference, in SDs between annotators, shown with that power.

    Infinite where not even 50 SDs would be, or for fewer than two annotators.
    """
    if n < 2 or power(50, n, level) < wanted:
        return math.inf
    return float(optimize.brentq(lambda d: power(d, n, level) - wanted, 1e-6, 50))


def group_needed(
    difference: float, level: float = 0.05, wanted: float = 0.8, most: int = 100_000
) -> int | None:
    """The fewest annotators in each of two groups that show `difference` SDs with that power.

    None where even `most` are too few. Raises ValueError for a difference of 0 or less.
    """
    if difference <= 0:
        raise ValueError("the difference must be above 0")
    if power(difference, most, level) < wanted:
        return None
    # Power grows with n.
    return 2 + bisect.bisect_left(
        range(2, most + 1), wanted, key=lambda n: power(difference, n, level)
    )


def annotators_needed(half_width: float, sd: float, level: float = 0.95) -> int:
    """The fewest annotators whose t interval of the mean is no wider than +- `half_width`.

    `sd` is that between annotators, in the same unit. Raises ValueError for a width of 0 or less.
    """
    if half_width <= 0 or sd < 0:
        raise ValueError("the half width must be above 0, and the SD not below")
    # No t interval is narrower than the normal one: nothing below its n can do.
    n = max(2, math.ceil((stats.norm.ppf((1 + level) / 2) * sd / half_width) ** 2))
    while stats.t.ppf((1 + level) / 2, n - 1) * sd / math.sqrt(n) > half_width:
        n += 1
    return n


def examples_needed(half_width: float, mean: float, level: float = 0.95) -> int:
    """The fewest examples at which one annotator's mean is known to +- `half_width`.

    For scores of 0 or 1 with that mean, all in [0, 1], the examples drawn independently.
    """
    if half_width <= 0 or not 0 <= mean <= 1:
        raise ValueError("the half width must be above 0, and the mean in [0, 1]")
    z = stats.norm.ppf((1 + level) / 2)
    return max(1, math.ceil(z * z * mean * (1 - mean) / half_width**2))
