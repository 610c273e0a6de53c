"""ARG: annotators' average relative gain on unseen tasks after upstream training (pure).

CrossFit (Ye, Lin, Ren 2021) defines ARG as the mean over tasks of (new - base) / base and does not
specify the order in which annotators or seeds are averaged. Here, `new` and `base` are the mean
scores of the annotators in the two arms. Their ratio is computed for each task, and the ratios are
averaged over tasks. Because the arms have different annotators, both means in a ratio are noisy.
Tasks and their test examples are fixed, so the intervals generalise to other annotators on these
tasks. ARG covers all tasks in the design or is undefined. A mean over only the tasks whose base is
far enough from zero would select high bases by chance and underestimate their gain. Scores are in
the unit of the task's metric. A gain of 1 is 100%.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from operator import attrgetter
from types import SimpleNamespace
from typing import NamedTuple

from analysis.heavy import np, pd
from analysis.stats.distributions import t_quantile, t_tail
from analysis.stats.uncertainty import TAIL, Z, sd, wilson

LOWEST_BASE = 0.01  # for a metric whose maximum is 1
REFUSED = "a task has no relative gain"  # the reason given if ARG is undefined
MIN_BASE_IN_SE = 4.0  # in standard errors; a base closer to zero than this is not used as a divisor
NONE = (math.nan, math.nan)
# (unseen task, scores of annotators in the base arm, scores in the new arm)
Scores = tuple[str, Sequence[float], Sequence[float]]


@dataclass(frozen=True)
class TaskGain:
    """The gain on one unseen task. `relative` is NaN if `refused` gives a reason."""

    task: str
    base: float
    new: float
    base_sd: float
    new_sd: float
    base_people: int
    new_people: int
    refused: str = ""

    @property
    def difference(self) -> float:
        return self.new - self.base

    @property
    def relative(self) -> float:
        return math.nan if self.refused else self.difference / self.base

    def parts(self) -> tuple[tuple[float, int], tuple[float, int]]:
        """Return how much each arm (new, base) adds to the variance of `relative`, with its df."""
        new = (self.new_sd / self.base) ** 2 / self.new_people
        base = (self.new * self.base_sd / self.base**2) ** 2 / self.base_people
        return (new, self.new_people - 1), (base, self.base_people - 1)

    def parts_of_difference(self) -> tuple[tuple[float, int], tuple[float, int]]:
        """Return each arm's contribution to the variance of `difference`, with its df."""
        new, base = self.new_sd**2 / self.new_people, self.base_sd**2 / self.base_people
        return (new, self.new_people - 1), (base, self.base_people - 1)


@dataclass(frozen=True)
class Arg:
    """The ARG and the difference over all tasks. ARG requires a ratio for every task.

    `interval` is (low, high), or NaN if `why_no_interval` gives a reason. `method` names the method
    behind the interval for `arg`, and `p` is below .05 if that interval excludes 0.
    """

    gains: tuple[TaskGain, ...]
    arg: float
    interval: tuple[float, float]
    p: float
    method: str
    why_no_interval: str
    difference: float
    difference_interval: tuple[float, float]

    @property
    def refused(self) -> list[TaskGain]:
        return [gain for gain in self.gains if gain.refused]


def task_gain(task: str, base: Sequence[float], new: Sequence[float]) -> TaskGain:
    """Return a task's gain, given the scores in each arm. Raises ValueError for an empty arm."""
    if not len(base) or not len(new):
        raise ValueError(f"{task}: an arm without participants has no mean")
    mean, spread = float(np.mean(base)), sd(base)
    numbers = (mean, float(np.mean(new)), spread, sd(new), len(base), len(new))
    refused = why_no_divisor(mean, spread, len(base))
    if math.isnan(numbers[1]):
        refused = refused or "the mean of the arm is undefined"
    return TaskGain(task, *numbers, refused=refused)


def why_no_divisor(base: float, base_sd: float = 0.0, people: int = 1) -> str:
    """Return why the base arm's mean cannot be used as a divisor, or "" if it can."""
    if math.isnan(base):
        return "the base is undefined"
    if base <= 0:
        return "the base is at or below zero"
    if base < LOWEST_BASE:
        return f"the base is below {LOWEST_BASE:g}"
    if base_sd > 0 and base < MIN_BASE_IN_SE * base_sd / math.sqrt(people):
        return f"the base is less than {MIN_BASE_IN_SE:g} standard errors from zero"
    return ""


def average_relative_gain(tasks: Sequence[Scores]) -> Arg:
    """Return the ARG with 95% intervals. Raises ValueError without tasks or for empty arms."""
    if not tasks:
        raise ValueError("no unseen task")
    gains = tuple(task_gain(*task) for task in tasks)
    refused = [gain for gain in gains if gain.refused]
    reason = REFUSED if refused else ""
    if len(refused) == len(gains):
        reason = "no task has a base to divide by"
    reason = reason or _why_no_interval(gains, [part for gain in gains for part in gain.parts()])
    difference = float(np.mean([gain.difference for gain in gains]))
    value = math.nan if refused else float(np.mean([gain.relative for gain in gains]))
    method, interval, p = "", NONE, math.nan
    if not reason:
        method, interval, reason = _interval(value, gains)
        p = _p(value, gains)
    around = _around_difference(difference, gains, len(gains))
    return Arg(gains, value, interval, p, method, reason, difference, around)


def change(fewer: Sequence[Scores], more: Sequence[Scores]) -> Arg:
    """Return how the ARG and the difference change from `fewer` to `more` shots on the same tasks.

    All arms have different annotators, so variances add up. Raises ValueError for an empty arm.
    """
    few, many = ([task_gain(*task) for task in tasks] for tasks in (fewer, more))
    gains = (*few, *many)
    of_ratios = [part for gain in gains if not gain.refused for part in gain.parts()]
    value, difference = (
        float(np.mean([of(gain) for gain in many]) - np.mean([of(gain) for gain in few]))
        for of in (attrgetter("relative"), attrgetter("difference"))
    )
    cause = REFUSED if any(gain.refused for gain in gains) else _why_no_interval(gains, of_ratios)
    around, interval, p = _around_difference(difference, gains, len(few)), NONE, math.nan
    if not cause:
        interval, p = _t_interval(value, of_ratios, len(few)), _p(value / 2, gains)
    return Arg(
        gains, value, interval, p, "" if cause else "delta method", cause, difference, around
    )


def _why_no_interval(gains: Sequence[TaskGain], parts: Sequence[tuple[float, int]]) -> str:
    """Return why the ARG has no interval, or "". `parts` contains each arm's (variance, df)."""
    if any(min(gain.base_people, gain.new_people) < 2 for gain in gains):
        return "an arm has one annotator"
    if any(math.isnan(gain.difference) for gain in gains):
        return "a mean is undefined"
    if not any(variance > 0 for variance, _df in parts):
        return "annotators tie"
    return ""


def _around_difference(value: float, gains: Sequence[TaskGain], tasks: int) -> tuple[float, float]:
    """Return the t interval for a mean difference, or NaN if it has none."""
    parts = [part for gain in gains for part in gain.parts_of_difference()]
    return NONE if _why_no_interval(gains, parts) else _t_interval(value, parts, tasks)


def _interval(value: float, gains: Sequence[TaskGain]) -> tuple[str, tuple[float, float], str]:
    """Return (method, interval, why none): Fieller's for one task, the delta method for several."""
    if len(gains) > 1:
        parts = [part for gain in gains for part in gain.parts()]
        return "delta method", _t_interval(value, parts, len(gains)), ""
    interval = fieller(gains[0])
    reason = "the base is not distinct from zero" if math.isnan(interval[0]) else ""
    return "Fieller", interval, reason


def _t_interval(
    value: float, parts: Sequence[tuple[float, int]], tasks: int
) -> tuple[float, float]:
    """Return value ± t · √Σ variances / tasks (Satterthwaite). `parts` are (variance, df)."""
    error = math.sqrt(sum(v for v, _df in parts)) / tasks
    reach = t_quantile(TAIL, satterthwaite(parts)) * error
    return value - reach, value + reach


def _p(value: float, gains: Sequence[TaskGain]) -> float:
    """Return the two-sided p value for no gain, from the same t distribution as the interval."""
    parts = [part for gain in gains for part in gain.parts()]
    df, noise = satterthwaite(parts), parts
    if len(gains) == 1:  # at a gain of 0, Fieller's condition compares the means
        value, noise = gains[0].difference, list(gains[0].parts_of_difference())
    t = abs(value) * len(gains) / math.sqrt(sum(v for v, _df in noise))
    return float(2 * t_tail(t, df))


def satterthwaite(parts: Sequence[tuple[float, int]]) -> float:
    """Return the degrees of freedom of a sum of independent variances (Satterthwaite 1946)."""
    return sum(v for v, _df in parts) ** 2 / sum(v * v / df for v, df in parts if v)


def fieller(gain: TaskGain) -> tuple[float, float]:
    """Return Fieller's 95% interval for the relative gain on one task, or NaN if it is unbounded.

    The interval contains the gains r - 1 for which (new - r · base)² <= t² (var new + r² var base).
    t has Satterthwaite's degrees of freedom at the estimate (Fieller 1954).
    """
    t = t_quantile(TAIL, satterthwaite(gain.parts()))
    (new_var, _), (base_var, _) = gain.parts_of_difference()
    leading = gain.base**2 - t * t * base_var
    if leading <= 0:
        return NONE
    middle = gain.new * gain.base
    root = math.sqrt(max(0.0, middle**2 - leading * (gain.new**2 - t * t * new_var)))
    return (middle - root) / leading - 1, (middle + root) / leading - 1


BAND = 0.05  # CrossFit counts gains within ± 5 % of the base separately


class Share(NamedTuple):
    """A proportion with the limits of its 95 % interval by Wilson's method."""

    share: float
    low: float
    high: float


def bands(gains: Sequence[float]) -> dict[str, Share]:
    """Return the shares of gains above, within and below the band.

    >>> [round(share, 2) for share, _low, _high in bands([0.06, 0.05, 0, -0.2]).values()]
    [0.25, 0.5, 0.25]
    """
    above, below = sum(gain > BAND for gain in gains), sum(gain < -BAND for gain in gains)
    counts = {"above": above, "within": len(gains) - above - below, "below": below}
    if not gains:
        return dict.fromkeys(counts, Share(math.nan, *NONE))
    return {name: Share(n / len(gains), *wilson(n, len(gains))) for name, n in counts.items()}


def spearman(first: Sequence[float], second: Sequence[float]) -> SimpleNamespace:
    """Return the rank correlation of pairs, with its 95% interval and two-sided p (NaN: missing).

    Ties have mean ranks. The interval is Fisher's, with the standard error of Bonett and Wright
    (2000). `p` comes from the t test.
    """
    ranks = [pd.Series(values, dtype=float).rank() for values in (first, second)]
    n, rho = len(first), math.nan
    if min(values.nunique() for values in ranks) > 1:
        rho = float(np.clip(np.corrcoef(ranks)[0, 1], -1, 1))
    low, high = NONE
    if n > 3 and abs(rho) < 1:
        reach = Z * math.sqrt((1 + rho**2 / 2) / (n - 3))
        low, high = math.tanh(math.atanh(rho) - reach), math.tanh(math.atanh(rho) + reach)
    p = math.nan
    if n > 2 and not math.isnan(rho):
        t = abs(rho) * math.sqrt((n - 2) / (1 - rho**2)) if abs(rho) < 1 else math.inf
        p = float(2 * t_tail(t, n - 2))
    return SimpleNamespace(pairs=n, rho=rho, low=low, high=high, p=p)


def half_width(plans: Sequence[TaskGain], people: int, *, t: bool) -> float:
    """Return half the width of an ARG's 95% interval, given `people` annotators per arm and task.

    `plans` contain the expected means and the SDs between annotators; their annotator counts are
    ignored. The interval uses the t distribution, as the reported one does, or, if `t` is false,
    the normal distribution.
    """
    parts = _planned_parts(plans, people)
    quantile = t_quantile(TAIL, satterthwaite(parts)) if t else Z
    return quantile * math.sqrt(sum(v for v, _df in parts)) / len(plans)


def _planned_parts(plans: Sequence[TaskGain], people: int) -> list[tuple[float, int]]:
    parts = [part for plan in plans for part in plan.parts()]
    return [(variance * (df + 1) / people, people - 1) for variance, df in parts]


def people_needed(width: float, plans: Sequence[TaskGain], *, t: bool = True) -> int:
    """Return the annotators per arm and task needed for an ARG within ± `width` (0.05 is ± 5%).

    Raises ValueError without tasks, if no SD or width is above 0, or if a base cannot be a divisor.
    """
    if width <= 0 or not plans or any(plan.refused for plan in plans):
        raise ValueError("the width must be above 0, and each task needs a base to divide by")
    if not any(plan.base_sd > 0 or plan.new_sd > 0 for plan in plans):
        raise ValueError("planning requires an SD between participants")
    unit = math.sqrt(sum(v for v, _df in _planned_parts(plans, 1))) / len(plans)
    people = max(2, math.ceil((Z * unit / width) ** 2 - 1e-9))
    # A t interval is never narrower than the normal one, so start from the latter's number.
    while t and half_width(plans, people, t=True) > width:
        people += 1
    return people
