"""A difference with its test, as in all tables of differences (between shots, human - model).

The numbers come from `analysis/stats/two_way.py`. They are in points of the score x 100, under the
metric on the task's card.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

from analysis.heavy import np, pd
from analysis.scores.means import matrix_of
from analysis.stats import significance, two_way
from analysis.stats.learning import by_cell, pairs_of_shots
from analysis.stats.two_way import Estimate
from tasks.columns import NOTHING

EACH = "each at .05, without correction for multiple testing"
WORDS = {"each": EACH}  # in the meanings of columns
ONE_SIDED = 0.9  # level of the interval for two one-sided tests at .05


def numbers(estimate: Estimate) -> dict[str, Any]:
    """Return a difference in points with 95% and 90% intervals, or NaN if `no_interval` is set.

    The estimate is in [0, 1]. `people_se` and `people_df` are for other annotators on the same
    examples, and `se` and `df` for other annotators on other examples. The interval is the wider of
    the two. `smallest_margin` is half the width of the 90% interval, because equivalence within a
    smaller margin could not be shown even for a difference of 0.
    """
    scaled = {name: 100 * getattr(estimate, name) for name in ("value", "people_se", "se")}
    of_100 = replace(estimate, **scaled)
    low, high = of_100.interval()
    low_90, high_90 = of_100.interval(ONE_SIDED)
    return {
        "difference": of_100.value, "low": low, "high": high, "p": of_100.p(), "low_90": low_90,
        "high_90": high_90, "smallest_margin": of_100.reach(ONE_SIDED), "se": of_100.se,
        "df": of_100.df, "people_se": of_100.people_se, "people_df": of_100.people_df,
        "no_interval": of_100.why_not,
    }  # fmt: skip


def judged(rows: Sequence[SimpleNamespace], margin: float | None) -> list[SimpleNamespace]:
    """Add Holm's correction over the whole family and the design's margin (or NaN) to the rows."""
    bound = math.nan if margin is None else float(margin)
    for row, p_holm in zip(rows, significance.holm([row.p for row in rows]), strict=True):
        numbers = row.difference, row.people_se, row.people_df, row.se, row.df, row.no_interval
        p = math.nan if margin is None else Estimate(*numbers).p_equivalence(bound)
        vars(row).update(p_holm=p_holm, margin=bound, p_equivalence=p)
    return list(rows)


def equivalence(row: SimpleNamespace) -> str:
    """Return whether the 90% interval lies within the margin, or a dash without a margin.

    Each row is tested at .05, so a false positive is more likely if there are several rows.
    """
    if math.isnan(row.margin) or row.no_interval:
        return NOTHING
    inside = -row.margin < row.low_90 and row.high_90 < row.margin
    return f"within ± {row.margin:g} ({EACH})" if inside else f"not shown for ± {row.margin:g}"


# Differences between shot counts: other annotators on the same test examples.


def contrasts(
    frame: pd.DataFrame, seed: int = 0, margin: float | None = None
) -> list[SimpleNamespace]:
    """Compare each pair of a task's shots, with Holm's correction over all pairs in the table.

    `frame` contains one row per answer in the annotation step: task, shots, annotator, example,
    context, score (test_sets.with_scores). `margin` is the equivalence margin in points.
    `permutation_p` and `welch_p` are sensitivity analyses over annotators on the same examples.
    `floor` is the smallest p value that the permutation test can reach with so few annotators.
    """
    cells = {(task, shots): matrix_of(part) for task, shots, part in by_cell(frame)}
    rows = [
        _contrast(task, fewer, more, cells[task, fewer], cells[task, more], seed)
        for task, fewer, more in pairs_of_shots(cells)
    ]
    return judged(rows, margin)


_Arm = tuple[Any, list[Any], Any]  # as returned by matrix_of: scores, contexts, example keys


def _contrast(
    task: str, fewer: int, more: int, few: _Arm, many: _Arm, seed: int
) -> SimpleNamespace:
    (first, contexts, keys), (second, _contexts, other_keys) = few, many
    _shared, in_few, in_many = np.intersect1d(
        keys, other_keys, assume_unique=True, return_indices=True
    )
    first, second = first[:, in_few], second[:, in_many]
    contexts = [contexts[index] for index in in_few]
    means = list(two_way.row_means(first)), list(two_way.row_means(second))
    sizes = len(first), len(second)
    return SimpleNamespace(
        task=task,
        from_shots=fewer,
        to_shots=more,
        n_from=sizes[0],
        n_to=sizes[1],
        hedges_g=two_way.hedges_g(*means),
        permutation_p=math.nan
        if np.isnan([*means[0], *means[1]]).any()
        else significance.permutation(*means, seed=seed),
        floor=significance.smallest_p(*sizes),
        welch_p=significance.welch(*means),
        **numbers(two_way.difference_estimate(first, second, contexts)),
    )
