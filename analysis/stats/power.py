"""A design's power for the primary test, and sample sizes for a given interval (pure).

The primary test (two_way.py) for two arms of n annotators detects a difference if it exceeds both
the limit from Welch's t test over annotators and the limit from noise over contexts. Power is
integrated numerically over one arm's share of both variances (beta) and over their sum (chi
squared), and exactly over the difference. Differences are in SDs between annotators' means in the
first arm. The SD in the other arm is `ratio` times as large, because scores near 0 or 1 vary less
(planner.py computes the ratio). Contexts are assumed to be equally hard in both arms.
"""

from __future__ import annotations

import bisect
import functools
import math
from typing import Any

from analysis.heavy import np
from analysis.stats import distributions
from analysis.stats.distributions import gamma_quantiles, normal_cdf, t_quantile
from analysis.stats.uncertainty import TAIL, Z

SHARES, SUMS, SDS = 12, 200, 60  # numbers of quadrature nodes


def power(
    difference: float,
    n: int,
    level: float = 0.05,
    noise: float = 0.0,
    contexts: int = 200,
    ratio: float = 1.0,
) -> float:
    """Return the power of the two-sided primary test with n annotators in each arm.

    `difference` is in SDs between annotators' means in the first arm. `noise` is the fraction of
    the SD (0 to 1, the root of the mean square of both arms) that is noise over the `contexts`. If
    it is unknown, pass 0, which plans for Welch's test alone.
    """
    of_people, weights = _welch_limits(n, level, ratio)
    of_contexts = t_quantile(1 - level / 2, contexts - 1) * noise if contexts > 1 else 0
    edges = np.maximum(of_people, of_contexts)
    gap = difference / math.sqrt((1 + ratio**2) / n)
    chances = normal_cdf(gap - edges) + normal_cdf(-gap - edges)
    return min(1.0, float((weights @ chances).sum()) / SUMS)


@functools.lru_cache(maxsize=256)
def _welch_limits(n: int, level: float, ratio: float) -> tuple[np.ndarray, np.ndarray]:
    """Return the limits of Welch's test (shares x sums) in SDs of the difference, and weights."""
    # With more degrees of freedom, the shares are almost equal.
    one = np.array([0.5]), np.ones(1)
    shares, weights = distributions.beta_nodes(SHARES, n - 1) if n <= 301 else one
    first, second = shares, ratio**2 * (1 - shares)
    df = (n - 1) * (first + second) ** 2 / (first**2 + second**2)
    sums = _chi2_middles(2 * n - 2, SUMS) / (n - 1)
    errors = np.sqrt(np.outer(first + second, sums) / (1 + ratio**2))
    return distributions.t_quantiles(1 - level / 2, df)[:, None] * errors, weights


@functools.lru_cache(maxsize=256)
def _chi2_middles(df: int, number: int) -> np.ndarray:
    """Return the medians of `number` equal parts of the chi-squared distribution."""
    return 2 * gamma_quantiles((np.arange(number) + 0.5) / number, df / 2)


def sd_range(sd: float, n: int) -> tuple[float, float]:
    """Return the 95% interval for the true SD, estimated from n values (NaN for fewer than two)."""
    if n < 2:
        return math.nan, math.nan
    tails = 2 * gamma_quantiles(np.array([TAIL, 1 - TAIL]), (n - 1) / 2)
    low, high = sd * np.sqrt((n - 1) / tails)
    return float(low), float(high)


def averaged_power(
    difference: float, n: int, sample_size: int, level: float = 0.05, noise: float = 0, **arms: Any
) -> float:
    """Return the power averaged over the true SDs compatible with an SD of `sample_size` values."""
    factors = np.sqrt((sample_size - 1) / _chi2_middles(sample_size - 1, SDS)).tolist()
    powers = [power(difference / x, n, level, min(1, noise / x), **arms) for x in factors]
    return math.fsum(powers) / SDS


@functools.lru_cache
def detectable(n: int, level: float = 0.05, goal: float = 0.8, noise: float = 0.0) -> float:
    """Return the smallest difference, in SDs between annotators, detectable with this power.

    The only true contrast in a study must pass the first step of Holm's correction, where `level`
    is divided by the number of comparisons. The result is infinite if not even 50 SDs are
    detectable, or if there are fewer than two annotators.
    """
    if n < 2 or power(50, n, level, noise) < goal:
        return math.inf
    return distributions.root(lambda d: power(d, n, level, noise) - goal, 1e-6, 50)


def group_needed(
    difference: float, level: float = 0.05, goal: float = 0.8, limit: int = 100_000, **arms: Any
) -> int | None:
    """Return the fewest annotators in each of two groups that can detect `difference` SDs.

    `arms` are the remaining parameters of `power`. Returns None if even `limit` annotators are too
    few. Raises ValueError for a difference of 0 or less.
    """
    if difference <= 0:
        raise ValueError("the difference must be above 0")
    if power(difference, limit, level, **arms) < goal:
        return None
    # Power increases with n.
    return 2 + bisect.bisect_left(
        range(2, limit + 1), goal, key=lambda n: power(difference, n, level, **arms)
    )


def annotators_needed(half_width: float, sd: float) -> int:
    """Return the fewest annotators for a 95% t interval for the mean within +- `half_width`.

    `sd` is the true SD between annotators, in the same unit. A study's SD is as often above it as
    below, so only half of all studies reach this width. Raises ValueError for widths of 0 or less.
    """
    if half_width <= 0 or sd < 0:
        raise ValueError("the half width must be above 0, and the SD not below")
    # A t interval is never narrower than the normal one, so start from the latter's n.
    n = max(2, math.ceil((Z * sd / half_width) ** 2))
    while t_quantile(TAIL, n - 1) * sd / math.sqrt(n) > half_width:
        n += 1
    return n


def examples_needed(half_width: float, mean: float) -> int:
    """Return the fewest examples for which one annotator's mean has an interval of +- `half_width`.

    This assumes scores of 0 or 1 with that mean, and independently drawn examples.
    """
    if half_width <= 0 or not 0 <= mean <= 1:
        raise ValueError("the half width must be above 0, and the mean in [0, 1]")
    return max(1, math.ceil(Z * Z * mean * (1 - mean) / half_width**2))
