"""How annotators change as they work: learning and drift (numpy and pandas, pure).

Functions on lists take one annotator's values in the order in which the examples were shown.
Functions on frames take one row per answer in one step, with the columns task, shots, annotator,
position (0-based, in that order, without gaps) and s1 in [0, 1]. Positions are only informative if
each annotator has their own random order. A fixed order confounds positions with difficulty.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from operator import itemgetter
from types import SimpleNamespace
from typing import Any

from analysis.heavy import np, pd
from analysis.stats import uncertainty
from analysis.stats.distributions import t_quantile
from analysis.stats.uncertainty import ROUNDING, Numbers
from tasks.cards import place

GROUP = ["task", "shots"]
RESAMPLES = 2000
BLOCK = 5  # examples per block of the learning curve
TENTHS = 10  # number of parts into which the drift curve divides the annotation step


def slope(values: Numbers) -> float:
    """Return the least-squares slope per example, or NaN for fewer than two values."""
    ordered = np.asarray(values, dtype=float)
    if len(ordered) < 2:
        return math.nan
    return float(_weights(len(ordered)) @ ordered)


def _weights(length: int) -> np.ndarray:
    away = np.arange(length) - (length - 1) / 2
    return away / (away @ away)


def per_hundred(values: Numbers) -> float:
    return 100 * slope(values)


def half_difference(values: Numbers) -> float:
    """Return mean(second half) - mean(first half), without a middle value, or NaN for one value."""
    half = len(values) // 2
    if not half:
        return math.nan
    return float(np.mean(values[-half:]) - np.mean(values[:half]))


def slope_p(people: Sequence[Numbers], seed: int = 0, resamples: int = RESAMPLES) -> float:
    """Return the two-sided p value of the mean slope, shuffling each annotator's positions.

    Under the null hypothesis, the order of the examples does not affect an annotator's scores. The
    seeded sample of shuffles includes the observed order. NaN if no slope can be computed.
    """
    rows = [np.asarray(person, dtype=float) for person in people if len(person) > 1]
    if not rows:
        return math.nan
    observed = abs(sum(slope(person) for person in rows))
    draw = np.random.default_rng(seed)
    sums = np.zeros(resamples)
    for person in rows:
        shuffled = draw.permuted(np.tile(person, (resamples, 1)), axis=1)
        sums += shuffled @ _weights(len(person))
    reached = (np.abs(sums) >= observed - 1e-12).sum()
    return float((reached + 1) / (resamples + 1))


def people_by_cell(frame: pd.DataFrame) -> Iterator[tuple[str, int, list[np.ndarray]]]:
    """Yield each cell's task, shots and annotators' S1 in order of position."""
    for task, shots, part in by_cell(frame):
        groups: Iterable[Any] = part.sort_values("position").groupby("annotator")["s1"]
        yield task, shots, [scores.to_numpy(dtype=float) for _annotator, scores in groups]


def by_cell(frame: pd.DataFrame) -> Iterator[tuple[str, int, pd.DataFrame]]:
    """Yield each cell's task, shots and rows, with tasks in the paper's order."""
    groups: Iterable[Any] = frame.groupby(GROUP)
    for (task, shots), part in sorted(groups, key=lambda group: (place(group[0][0]), group[0][1])):
        yield task, int(shots), part


def pairs_of_shots(cells: Iterable[tuple[str, int]]) -> Iterator[tuple[str, int, int]]:
    """Yield (task, fewer shots, more shots) for each pair of a task's cells, given in order."""
    for (task, fewer), (other_task, more) in itertools.combinations(cells, 2):
        if task == other_task:
            yield task, fewer, more


def by_block(training: pd.DataFrame) -> pd.DataFrame:
    """Return each annotator's mean S1 x 100 by block in the training step.

    Columns: task, shots, annotator, block (0-based), first and last (its examples, 1-based), s1, n
    (examples).
    """
    blocks = _means(training.assign(block=training["position"] // BLOCK), "block")
    blocks["first"] = blocks["block"] * BLOCK + 1
    blocks["last"] = blocks["first"] + blocks["n"] - 1
    return blocks[[*GROUP, "annotator", "block", "first", "last", "s1", "n"]]


def by_part(annotation: pd.DataFrame) -> pd.DataFrame:
    """Return each annotator's mean S1 x 100 by equal part of the annotation step.

    Columns: task, shots, annotator, part (1-based), s1, n (examples). A step with fewer examples
    than parts has one part per example.
    """
    parts = _means(annotation.assign(part=_parts(annotation)), "part")
    return parts[[*GROUP, "annotator", "part", "s1", "n"]]


def _means(keyed: pd.DataFrame, key: str) -> pd.DataFrame:
    grouped = keyed.groupby([*GROUP, "annotator", key])["s1"]
    return (grouped.mean() * 100).to_frame().assign(n=grouped.size()).reset_index()


def _parts(frame: pd.DataFrame) -> pd.Series:
    length = frame.groupby([*GROUP, "annotator"])["position"].transform("count")
    parts = length.clip(upper=TENTHS)
    return (frame["position"] * parts // length.clip(lower=1) + 1).astype(int)


def group_means(frame: pd.DataFrame, key: Sequence[str]) -> pd.DataFrame:
    """Return the mean over annotators by task, shots and `key`: s1, n (annotators), low and high.

    `low` and `high` are the ends of the 95% t interval within 0 to 100, or NaN if there is only one
    annotator or if all scores are equal.
    """
    grouped = frame.groupby([*GROUP, *key])["s1"]
    means, n, sd = grouped.mean(), grouped.size(), grouped.std().replace(0, math.nan)
    reach = (n - 1).clip(lower=1).map(partial(t_quantile, 0.975)) * sd / n**0.5
    ends = {"low": (means - reach).clip(lower=0), "high": (means + reach).clip(upper=100)}
    return means.to_frame().assign(n=n, **ends).reset_index()


def plateaus(curves: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the number of examples after which each curve stops rising, and the gain up to there.

    Curves are in rows, with one value per example. The least-squares fit is either a + b ·
    min(position, point) with b > 0, or a constant, in which case both results are 0.
    """
    length = curves.shape[1]
    bends = np.minimum(np.arange(length), np.arange(1, length)[:, None]).astype(float)
    bends -= bends.mean(1, keepdims=True)
    norms = (bends**2).sum(1)
    slopes = np.maximum(curves @ bends.T / norms, 0)
    best = (slopes**2 * norms).argmax(1)
    slope = slopes[np.arange(len(curves)), best]
    bend_points = np.where(slope > ROUNDING, best + 1, 0)
    return bend_points, slope * bend_points


def plateau_rows(training: pd.DataFrame, seed: int) -> list[SimpleNamespace]:
    """Return one row per cell with at least three training examples, from within-annotator changes.

    `point` is the point of no further gain, and `gain` is in S1 x 100. Every
    annotator in a group has the same weight at each position, so differences in level cancel out.
    """
    rows = []
    # Sort by shots, because cells with the same shots use the same resamples.
    for task, shots, people in sorted(people_by_cell(training), key=itemgetter(1)):
        n, examples = len(people), min(map(len, people))  # training splits may differ in size
        if examples > 2:
            group = np.stack([scores[:examples] for scores in people])
            curves = uncertainty.sums_and_resamples(group, seed + shots) / n
            points, gains = plateaus(100 * curves)
            gains = np.minimum(gains, 100)  # a fitted rise can exceed 100, as for 0, 0, 1, 1
            point, gain = (uncertainty.estimate(values, n) for values in (points, gains))
            cell = {"task": task, "shots": shots, "n": n, "examples": examples}
            rows.append(SimpleNamespace(**cell, point=point, gain=gain))
    return sorted(rows, key=lambda row: place(row.task))


def learning_rows(training: pd.DataFrame, seed: int) -> Iterator[SimpleNamespace]:
    """Yield S1 x 100 in the first and last block, slope per 10 examples and p value by cell."""
    blocks = by_block(training).groupby([*GROUP, "block"])["s1"].mean()
    for task, shots, people in people_by_cell(training):
        means = blocks[task, shots]
        yield SimpleNamespace(
            task=task, shots=shots, n=len(people), examples=max(map(len, people)),
            first_block=float(means.iloc[0]), last_block=float(means.iloc[-1]),
            slope_per_10=1000 * float(np.mean(list(map(slope, people)))),
            p=slope_p(people, seed),
        )  # fmt: skip


def drift_rows(annotation: pd.DataFrame) -> Iterator[SimpleNamespace]:
    """Yield the change in S1 x 100 over the annotation step, by task and shots.

    `half` is second half - first half, and `per_100` is the slope over a hundred examples,
    both in points with t intervals over annotators. `..._why_not` explains why an interval is NaN.
    """
    for task, shots, people in people_by_cell(annotation):
        row = SimpleNamespace(task=task, shots=shots, n=len(people), examples=max(map(len, people)))
        for name, change in (("half", half_difference), ("per_100", per_hundred)):
            changes = [100 * change(scores) for scores in people]
            interval = uncertainty.t_interval(changes)
            vars(row)[name] = float(np.mean(changes))
            vars(row)[f"{name}_low"], vars(row)[f"{name}_high"] = interval.low, interval.high
            vars(row)[f"{name}_why_not"] = uncertainty.why_no_interval(changes)
        yield row
