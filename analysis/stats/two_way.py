"""The primary estimator: a mean or difference with random annotators and random examples (pure).

A cell is a layout of annotators x contexts, both drawn at random. Its mean has two standard errors.
The first, SD / sqrt(a) for a annotators, generalises to other annotators on the same examples. The
second also generalises to other examples. With b contexts and the mean squares for annotators,
contexts and the rest, SE^2 = (MS_A + MS_C - MS_AC) / ab, but at least max(MS_A, MS_C) / ab. It has
Satterthwaite's degrees of freedom, which do not jump at that floor, where rounding may decide. The
reported interval is the wider of the two t intervals, and p is the larger of their p values, so an
interval is never narrower than that for a narrower question.
docs/statistics.md#intervals gives the reasons and the measured coverage.

Sources: Satterthwaite 1946; Brennan 2001, Generalizability Theory, chapter 6; Welch 1947 for arms.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from analysis.heavy import np
from analysis.stats.distributions import t_quantiles, t_tail
from analysis.stats.uncertainty import ROUNDING, by_cluster

LEVEL = 0.95
PEOPLE, BOTH = "other people on the same examples", "other people and other examples"
MISSING = "values are missing"
RUNS = f"{BOTH}, with the same model runs"
NO_VARIANCE = 1e-14  # variance of scores in [0, 1] that can result from rounding alone


@dataclass(frozen=True)
class Variances:
    """The variances of a mean due to annotators, contexts and the rest, with their df.

    Each is MS / n, where n is the number of values. Those for annotators and contexts include their
    part of the rest. Fields are numbers, or equally shaped arrays for many studies at once.
    """

    people: Any
    people_df: Any
    contexts: Any
    contexts_df: Any
    rest: Any
    rest_df: Any

    def both(self) -> tuple[Any, Any]:
        """Return the SE over annotators and contexts, and its degrees of freedom."""
        floor = np.maximum(self.people, self.contexts)
        total = np.maximum(self.people + self.contexts - self.rest, floor)
        weights = (
            self.people**2 / self.people_df
            + self.contexts**2 / self.contexts_df
            + self.rest**2 / self.rest_df
        )
        with np.errstate(divide="ignore", invalid="ignore"):
            df = total**2 / weights
        # fmax is needed because df is 0 / 0 if nothing varies.
        return np.sqrt(total), np.fmax(df, np.minimum(self.people_df, self.contexts_df))


@dataclass(frozen=True)
class Estimate:
    """A mean or difference with two standard errors, which are NaN if `why_not` gives a reason.

    `people_se` and `people_df` apply to other annotators on the same examples, and `se` and `df` to
    other annotators on other examples.
    """

    value: float
    people_se: float
    people_df: float
    se: float
    df: float
    why_not: str = ""

    def reach(self, level: float = LEVEL) -> float:
        """Return half the width of the interval, which is the wider of the two t intervals."""
        return float(reach(self.people_se, self.people_df, self.se, self.df, level))

    def interval(self, level: float = LEVEL) -> tuple[float, float]:
        half = self.reach(level)
        return self.value - half, self.value + half

    def p(self) -> float:
        """Return the two-sided p value, which is below 1 - level if the interval excludes 0."""
        return float(2 * self._beyond(abs(self.value)))

    def p_equivalence(self, margin: float) -> float:
        """Return the p value of two one-sided tests that the difference lies within +- margin.

        It is below .05 if the 90% interval lies inside the margin (Schuirmann 1987).
        """
        return float(self._beyond(margin - abs(self.value)))

    def _beyond(self, distance: float) -> float:
        """Return the larger of the two t distributions' tail areas beyond this distance."""
        if self.why_not:
            return math.nan
        ses, dfs = np.array([self.people_se, self.se]), np.array([self.people_df, self.df])
        return float(t_tail(distance / ses, dfs).max())


def reach(people_se: Any, people_df: Any, se: Any, df: Any, level: float = LEVEL) -> Any:
    """Return half the width of the wider t interval, for one study or for arrays of many."""
    ends = t_quantiles((1 + level) / 2, np.stack(np.broadcast_arrays(people_df, df)))
    return np.maximum(ends[0] * people_se, ends[1] * se)


def layout(matrix: np.ndarray, contexts: Sequence[object] | None = None) -> np.ndarray:
    """Turn a complete matrix of annotators x examples into one of annotators x contexts.

    `contexts` are the examples' contexts. Each value is grand mean + d * contexts / examples, where
    d is the sum of the deviations of the context's examples from the grand mean. If all contexts
    have the same size, this is the mean over their examples. In any case, an annotator's mean over
    contexts equals the mean over examples.
    """
    grand = matrix.mean()
    sums, _counts = by_cluster(matrix - grand, contexts)
    return grand + sums * (sums.shape[1] / matrix.shape[1])


def variances(values: np.ndarray) -> Variances:
    """Return the variances of the mean of a layout with at least two annotators and contexts.

    These are the last two axes. Annotators who differ only by rounding have zero variance.
    """
    people, contexts = values.shape[-2:]
    rows, columns = values.mean(-1), values.mean(-2)
    grand = values.mean((-2, -1))
    residuals = values - rows[..., :, None] - columns[..., None, :] + grand[..., None, None]
    rest_df = (people - 1) * (contexts - 1)
    between = np.where(np.ptp(rows, -1) > ROUNDING, rows.var(-1, ddof=1), 0)
    rest = (residuals**2).sum((-2, -1)) / rest_df / (people * contexts)
    of_contexts = columns.var(-1, ddof=1) / contexts, contexts - 1
    return Variances(between / people, people - 1, *of_contexts, rest, rest_df)


def variances_of_difference(first: np.ndarray, second: np.ndarray) -> Variances:
    """Return the variances of a difference, with annotators nested in arms and crossed contexts.

    Each arm has its own variance between annotators (Welch), because three annotators are too few
    to show that two variances are equal. Effects of contexts shared by both arms cancel out.
    """
    a, b = variances(first), variances(second)
    people = a.people + b.people
    weights = a.people**2 / a.people_df + b.people**2 / b.people_df
    with np.errstate(divide="ignore", invalid="ignore"):
        people_df = np.where(weights > 0, people**2 / weights, math.nan)
    gaps = second.mean(-2) - first.mean(-2)
    contexts = gaps.shape[-1]
    of_contexts = gaps.var(-1, ddof=1) / contexts, contexts - 1
    return Variances(people, people_df, *of_contexts, a.rest + b.rest, a.rest_df + b.rest_df)


def estimate(value: float, parts: Variances) -> Estimate:
    if not parts.people > 0:
        return unknown(value, "annotators tie")
    se, df = parts.both()
    numbers = math.sqrt(parts.people), float(parts.people_df), float(se), float(df)
    return Estimate(float(value), *numbers)


def unknown(value: float, why_not: str) -> Estimate:
    return Estimate(float(value), math.nan, math.nan, math.nan, math.nan, why_not)


def row_means(matrix: np.ndarray) -> np.ndarray:
    """Return the mean of each annotator's non-missing values, or NaN if all are missing."""
    is_known = ~np.isnan(matrix)
    with np.errstate(invalid="ignore"):
        return np.where(is_known, matrix, 0).sum(axis=1) / is_known.sum(axis=1)


def mean_estimate(matrix: np.ndarray, contexts: Sequence[object] | None = None) -> Estimate:
    """Estimate the mean of annotators x examples, where NaN marks missing or undefined scores."""
    value = float(np.mean(row_means(matrix))) if matrix.size else math.nan
    if why_not := _why_not(matrix, contexts):
        return unknown(value, why_not)
    return estimate(value, variances(layout(matrix, contexts)))


def difference_estimate(
    first: np.ndarray, second: np.ndarray, contexts: Sequence[object] | None = None
) -> Estimate:
    """Estimate mean(second) - mean(first) for two groups on the same examples."""
    value = math.nan
    if first.size and second.size:
        value = float(row_means(second).mean() - row_means(first).mean())
    if why_not := _why_not(first, contexts) or _why_not(second, contexts):
        return unknown(value, why_not)
    arms = layout(first, contexts), layout(second, contexts)
    return estimate(value, variances_of_difference(*arms))


def _why_not(matrix: np.ndarray, contexts: Sequence[object] | None) -> str:
    """Return why a matrix cannot be turned into a two-way layout, or ""."""
    people = len(matrix)
    if people < 2:
        return "one annotator" if people else "no annotator"
    if np.isnan(matrix).any():
        return MISSING
    different = matrix.shape[1] if contexts is None else len(set(contexts))
    return "" if different > 1 else "one context"


@dataclass(frozen=True)
class Components:
    """The variances of single values: between annotators, between contexts, and residual."""

    annotators: float
    contexts: float
    rest: float

    def variances(self, people: int, contexts: int) -> Variances:
        residual, df = self.rest / (people * contexts), (people - 1) * (contexts - 1)
        of_people = self.annotators / people + residual, people - 1
        of_contexts = self.contexts / contexts + residual, contexts - 1
        return Variances(*of_people, *of_contexts, residual, df)


def components(matrix: np.ndarray, contexts: Sequence[object] | None = None) -> Components | None:
    """Estimate two-way random effects by the method of moments, truncating negative estimates to 0.

    Returns None for fewer than two annotators or contexts, or if values are missing.
    """
    if _why_not(matrix, contexts):
        return None
    values = layout(matrix, contexts)
    parts, (people, number) = variances(values), values.shape
    estimates = (
        people * (parts.people - parts.rest),
        number * (parts.contexts - parts.rest),
        people * number * parts.rest,
    )
    return Components(*(float(value) if value > NO_VARIANCE else 0.0 for value in estimates))


def hedges_g(first: Sequence[float], second: Sequence[float]) -> float:
    """Return the difference of two means in SDs between annotators, corrected for small groups.

    Uses the exact correction of Hedges 1981. NaN for fewer than two values or zero variance.
    """
    sizes = len(first), len(second)
    if min(sizes) < 2 or max(np.ptp(first), np.ptp(second)) <= ROUNDING:
        return math.nan
    df = sum(sizes) - 2
    squares = (sizes[0] - 1) * np.var(first, ddof=1) + (sizes[1] - 1) * np.var(second, ddof=1)
    correction = math.exp(math.lgamma(df / 2) - math.lgamma((df - 1) / 2)) / math.sqrt(df / 2)
    gap = np.mean(second) - np.mean(first)
    return float(correction * gap / math.sqrt(squares / df))
