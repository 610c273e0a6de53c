"""The difference between two groups, adjusted for a covariate: ANCOVA with one slope (pure)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from analysis.heavy import np, special
from analysis.stats.uncertainty import ROUNDING


@dataclass(frozen=True)
class Adjusted:
    """A difference at the same covariate. All numbers are NaN if `why_not` gives a reason.

    `slope` is the change of the score per unit of the covariate, and `r` their correlation, both
    within the groups.
    """

    difference: float = math.nan
    low: float = math.nan
    high: float = math.nan
    p: float = math.nan
    slope: float = math.nan
    r: float = math.nan
    why_not: str = ""


def difference(
    groups: tuple[Sequence[float], Sequence[float]],
    covariates: tuple[Sequence[float], Sequence[float]] | None = None,
    level: float = 0.95,
) -> Adjusted:
    """Return the second mean minus the first, by least squares: score ~ group + covariate.

    Without covariates it is the raw difference with the pooled variance. It has n - 2 degrees of
    freedom, or n - 3 with a covariate.
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
    rest = float(y @ y)
    if covariates is not None:
        x = np.concatenate([values - values.mean() for values in given])
        if np.abs(x).max() <= ROUNDING:
            return Adjusted(why_not="the anchor score is constant within the arms")
        xx, xy, apart = float(x @ x), float(x @ y), float(given[1].mean() - given[0].mean())
        slope = xy / xx
        r = xy / math.sqrt(xx * rest) if rest > ROUNDING else math.nan
        gap, rest, inflation = gap - slope * apart, rest - slope * xy, apart**2 / xx
    if rest <= ROUNDING:
        return Adjusted(gap, slope=slope, r=r, why_not="annotators tie")
    error = math.sqrt(rest / df * (sum(1 / size for size in sizes) + inflation))
    half = float(special.stdtrit(df, (1 + level) / 2)) * error
    p = float(2 * special.stdtr(df, -abs(gap) / error))
    return Adjusted(gap, gap - half, gap + half, p, slope, r)
