"""Scores over annotators or splits, and the average score over tasks."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from analysis.heavy import np
from analysis.scores.columns import mean_and_sd, with_remark
from tasks.columns import points


@dataclass(frozen=True)
class Score:
    """The mean and SDs x 100 over `n` of `of` units (NaN: undefined), or `printed` if published."""

    mean: float = math.nan
    sd_ddof1: float = math.nan
    sd_ddof0: float = math.nan
    printed: float = math.nan
    n: int = 0
    of: int = 0
    remark: str = ""  # what to report alongside the score, or why it is undefined

    @property
    def spread(self) -> float:
        return self.sd_ddof1 if math.isnan(self.printed) else self.printed

    @property
    def text(self) -> str:
        return with_remark(mean_and_sd(self.mean, self.spread), self.remark)

    @property
    def lacks_sd(self) -> bool:
        return math.isnan(self.spread) and not math.isnan(self.mean)

    @property
    def shown(self) -> str:
        """Return the text shown on pages, where a mean without an SD is not followed by ±."""
        return with_remark(points(self.mean), self.remark) if self.lacks_sd else self.text


def over(values: Sequence[float], of: int, remarks: Sequence[str] = ()) -> Score:
    """Return the mean and both SDs (x 100) of scores in [0, 1]. `of` is the largest possible n.

    `remarks` correspond to the values. A single undefined value (NaN) makes the mean undefined.

    >>> over([0.5, 0.7], 5).text
    '60.0 ± 14.1'
    """
    if not values:
        return Score(of=of)
    scores = 100 * np.asarray(values, dtype=float)
    sd = float(scores.std(ddof=1)) if len(scores) > 1 else math.nan
    return Score(
        float(scores.mean()),
        sd,
        float(scores.std(ddof=0)),
        n=len(scores),
        of=of,
        remark=counted_remarks(remarks),
    )


def counted_remarks(remarks: Iterable[str]) -> str:
    """Return a remark for a mean over annotators, such as "constant prediction (1 of 3)"."""
    texts = list(remarks)
    counts = Counter(remark for remark in texts if remark)
    return "; ".join(f"{remark} ({times} of {len(texts)})" for remark, times in counts.items())


@dataclass(frozen=True)
class Aggregate:
    """The mean over tasks x 100 with both definitions of its SD (NaN if any task has no SD)."""

    mean: float
    sd_of_sum: float
    sd_of_average: float
    tasks: int

    @property
    def score(self) -> Score:
        return Score(self.mean, self.sd_of_average)


def aggregate(
    means: Sequence[float], spreads: Sequence[float], covariance: float = 0.0
) -> Aggregate:
    """Average over tasks. `covariance` is the sum over pairs of tasks (0 if independent).

    `sd_of_sum` is the square root of the sum of variances, as in the CLUES README; this is the SD
    of the sum over tasks. `sd_of_average` divides it by the number of tasks to give the SD of the
    mean.

    >>> aggregate([50, 70], [3, 4])
    Aggregate(mean=60.0, sd_of_sum=5.0, sd_of_average=2.5, tasks=2)
    """
    if len(means) != len(spreads) or not len(means):
        raise ValueError("an aggregate needs one mean and one SD for each of one or more tasks")
    variance = math.fsum(spread**2 for spread in spreads) + 2 * covariance
    total = math.sqrt(variance) if math.isnan(variance) else math.sqrt(max(variance, 0.0))
    return Aggregate(math.fsum(means) / len(means), total, total / len(means), len(means))
