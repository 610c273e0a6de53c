"""The uncertainty of a mean: intervals over examples, annotators, or both (numpy only, pure).

A score matrix contains S1 in [0, 1] as annotators x examples, with NaN for missing answers. The
three bootstraps answer three questions: these annotators on other examples, other annotators on
these, and other annotators on other examples (Miller 2024). The default interval is in two_way.py.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from statistics import NormalDist
from typing import NamedTuple, TypeAlias

from analysis.heavy import np
from analysis.stats.distributions import normal_cdf, t_quantile

RESAMPLES = 10_000
FEWEST_FOR_BOOTSTRAP = 10  # annotators; with three, coverage is 75 % (docs/statistics.md#coverage)
TAIL = 0.975  # for a 95 % interval
Z = NormalDist().inv_cdf(TAIL)
OVER = ("examples", "annotators", "both")
Numbers: TypeAlias = "Sequence[float] | np.ndarray"
ROUNDING = 1e-12  # scores in [0, 1] or x 100 that differ by less than this are equal
TIE = "annotators tie"


@dataclass(frozen=True)
class Interval:
    """The two ends of a confidence interval, and the standard error (NaN if unknown)."""

    low: float
    high: float
    sd: float


def sd(values: Numbers) -> float:
    """Return the SD with ddof 1 (NaN for fewer than two values), or 0 if only rounding differs."""
    array = np.asarray(values, dtype=float)
    if len(array) < 2:
        return math.nan
    return 0.0 if np.ptp(array) <= ROUNDING else float(array.std(ddof=1))


def why_no_interval(values: Numbers) -> str:
    """Return why these scores have no interval over other annotators, or "" if they have one."""
    if len(values) < 2:
        return "one annotator" if len(values) else "no annotator"
    if np.isnan(values).any():
        return "undefined"
    return "" if sd(values) else TIE


def t_interval(values: Numbers, level: float = 0.95) -> Interval:
    """Return the t interval of a mean, or NaN if it has none, for example if all annotators tie."""
    array = np.asarray(values, dtype=float)
    if why_no_interval(values):
        return Interval(np.nan, np.nan, np.nan)
    error = sd(array) / np.sqrt(len(array))
    reach = t_quantile((1 + level) / 2, len(array) - 1) * error
    return Interval(array.mean() - reach, array.mean() + reach, error)


def t_interval_of_scores(values: Numbers, lowest: float = 0) -> Interval:
    """Return the t interval of a mean score, clipped to [`lowest`, 1], or NaN if it has none."""
    interval = t_interval(values)
    low, high = np.clip([interval.low, interval.high], lowest, 1)
    return Interval(float(low), float(high), interval.sd)


def wilson(right: int, total: int) -> tuple[float, float]:
    """Return Wilson's interval for a share such as accuracy. Raises ValueError without trials."""
    if not 0 <= right <= total or not total:
        raise ValueError(f"{right} of {total} is not a share")
    share, z2 = right / total, Z**2 / total
    middle = (share + z2 / 2) / (1 + z2)
    reach = math.sqrt(z2 * (share * (1 - share) + z2 / 4)) / (1 + z2)
    return (0.0 if right == 0 else middle - reach, 1.0 if right == total else middle + reach)


def bootstrap(
    matrix: np.ndarray,
    over: str,
    clusters: Sequence[object] | None = None,
    seed: int = 0,
    resamples: int = RESAMPLES,
) -> Interval:
    """Return a 95% percentile interval for the mean over annotators of their means over examples.

    `clusters` gives the context of each example. Contexts are drawn with all their examples. Raises
    ValueError if `over` is not in OVER or if the matrix does not contain any answers.
    """
    if over not in OVER:
        raise ValueError(f"resample over one of {', '.join(OVER)}, not {over!r}")
    if np.isnan(matrix).all():
        raise ValueError("no answers")
    sums, counts = by_cluster(matrix, clusters)
    draw = np.random.default_rng(seed)
    # Use portions, so that 10,000 resamples of 600 contexts do not take 50 MB at once.
    portions = [min(1000, resamples - begin) for begin in range(0, resamples, 1000)]
    means = np.concatenate([_resampled(draw, size, sums, counts, over) for size in portions])
    means = means[~np.isnan(means)]
    low, high = np.quantile(means, [1 - TAIL, TAIL])
    return Interval(float(low), float(high), float(means.std()))


def _resampled(
    draw: np.random.Generator, size: int, sums: np.ndarray, counts: np.ndarray, over: str
) -> np.ndarray:
    """Return the means of this many resamples. A mean is NaN if its resample has no answers."""
    annotators, groups = sums.shape
    of_examples = _times_drawn(draw, size, groups, over != "annotators")
    # Each annotator's mean over the drawn examples, as resamples x annotators.
    with np.errstate(invalid="ignore"):
        means = (of_examples @ sums.T) / (of_examples @ counts.T)
    of_annotators = _times_drawn(draw, size, annotators, over != "examples")
    # An annotator who answered none of the drawn examples has no weight in that resample.
    weights = np.where(np.isnan(means), 0, of_annotators)
    with np.errstate(invalid="ignore"):
        return (np.nan_to_num(means) * weights).sum(1) / weights.sum(1)


class Estimate(NamedTuple):
    """A value with the limits of its 95 % interval, or with the reason if it has none."""

    value: float
    low: float
    high: float
    why_not: str


def sums_and_resamples(group: np.ndarray, seed: int, resamples: int = 2000) -> np.ndarray:
    """Return the sums over the first axis (annotators), followed by those over its resamples."""
    times = draws(resamples, len(group), seed)
    return np.concatenate([group.sum(0)[None], np.tensordot(times, group, 1)])


@lru_cache(maxsize=1)  # many cells of a study have the same size
def draws(size: int, number: int, seed: int) -> np.ndarray:
    return _times_drawn(np.random.default_rng(seed), size, number, is_drawn=True)


def estimate(
    values: np.ndarray, number: int, unit: str = "annotators", can_tie: bool = False
) -> Estimate:
    """Return the first value with an interval from percentiles of the others (its resamples).

    `number` counts the resampled units, whose plural is `unit`. With `can_tie`, there is no
    interval if all resamples agree, for example if all answers are correct. The percentiles are
    those of a t interval with the SD of a sample (Hesterberg 2015, 3.3).
    """
    resamples = values[1:][np.isfinite(values[1:])]
    if number < FEWEST_FOR_BOOTSTRAP or not len(resamples):
        why_not = f"fewer than {FEWEST_FOR_BOOTSTRAP} {unit}"
        return Estimate(float(values[0]), math.nan, math.nan, why_not)
    reach = math.sqrt(number / (number - 1)) * t_quantile(TAIL, number - 1)
    low, high = np.quantile(resamples, normal_cdf(np.array([-reach, reach])))
    if can_tie and high - low <= 100 * ROUNDING:
        return Estimate(float(values[0]), math.nan, math.nan, f"{unit} tie")
    return Estimate(float(values[0]), float(low), float(high), "")


def _times_drawn(draw: np.random.Generator, size: int, number: int, is_drawn: bool) -> np.ndarray:
    """Return how many times each resample contains each unit, or 1 if units are not drawn."""
    if not is_drawn:
        return np.ones((size, number))
    return draw.multinomial(number, np.full(number, 1 / number), size)


def by_cluster(
    matrix: np.ndarray, clusters: Sequence[object] | None
) -> tuple[np.ndarray, np.ndarray]:
    """Return S1 sums and answer counts as annotators x contexts."""
    given = ~np.isnan(matrix)
    values = np.nan_to_num(matrix)
    if clusters is None:
        return values, given.astype(float)
    names = list(map(str, clusters))  # a numpy array of strings would pad each name to the longest
    place = {name: number for number, name in enumerate(sorted(set(names)))}
    member = np.zeros((matrix.shape[1], len(place)))
    member[np.arange(matrix.shape[1]), [place[name] for name in names]] = 1
    return values @ member, given @ member
