"""A difference with its test, as used in all tables of differences (shots, humans minus models).

The numbers come from `analysis/stats/two_way.py`. They are in points of the score x 100, under the
metric on the task's card.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from analysis.heavy import np, pd
from analysis.scores.columns import ASSUMES, assuming, signed_between, signed_points
from analysis.scores.means import matrix_of
from analysis.stats import significance, two_way
from analysis.stats.learning import by_cell, pairs_of_shots
from analysis.stats.two_way import Estimate
from tasks.columns import NOTHING, Column

EACH = "each at .05, without correction for multiple testing"
ONE_SIDED = 0.9  # level of the interval for two one-sided tests at .05


@dataclass(frozen=True, kw_only=True)
class Tested:
    """A difference in points with 95% and 90% intervals, or NaN if `no_interval` is set.

    `people_se` and `people_df` apply to other annotators on the same examples; `se` and `df` apply
    to other annotators on other examples. The interval is the wider of the two. `smallest_margin`
    is half of the 90% interval, because a smaller margin could not be shown even for a difference
    of 0. `margin` comes from the design (NaN if not set).
    """

    difference: float
    low: float
    high: float
    p: float
    p_holm: float = math.nan
    low_90: float
    high_90: float
    smallest_margin: float
    margin: float = math.nan
    p_equivalence: float = math.nan
    se: float
    df: float
    people_se: float
    people_df: float
    no_interval: str

    @property
    def fewest(self) -> int:
        raise NotImplementedError

    @property
    def equivalence(self) -> str:
        """Return whether the 90% interval lies within the margin, or a dash without a margin.

        Each row is tested at .05, so with several rows, a false positive becomes more likely.
        """
        if math.isnan(self.margin) or self.no_interval:
            return NOTHING
        inside = -self.margin < self.low_90 and self.high_90 < self.margin
        return (
            f"within ± {self.margin:g} ({EACH})" if inside else f"not shown for ± {self.margin:g}"
        )


AnyTested = TypeVar("AnyTested", bound=Tested)


def numbers(estimate: Estimate) -> dict[str, Any]:
    """Return an estimate's fields for Tested, in [0, 1], before Holm's correction and margin."""
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


def judged(rows: Sequence[AnyTested], margin: float | None) -> list[AnyTested]:
    """Apply Holm's correction over the whole family, and add the design's margin to the rows."""
    adjusted = significance.holm([row.p for row in rows])
    bound = math.nan if margin is None else float(margin)
    return [
        replace(row, p_holm=p, margin=bound, p_equivalence=_equivalence(row, bound))
        for row, p in zip(rows, adjusted, strict=True)
    ]


def _equivalence(row: Tested, margin: float) -> float:
    if math.isnan(margin):
        return math.nan
    estimate = Estimate(
        row.difference, row.people_se, row.people_df, row.se, row.df, row.no_interval
    )
    return estimate.p_equivalence(margin)


def interval_columns(question: str) -> list[Column]:
    """Return columns for a difference with its 95% interval: one for the page, two for files."""
    meaning = f"95 % interval of the difference; it generalises to {question}"
    both_ends = f"{meaning}; {ASSUMES[2:]}"
    return [
        Column(
            "",
            "95 % CI",
            f"{meaning}: the wider of the t interval over annotators and the two-way t interval"
            f" over annotators and contexts; {ASSUMES}",
            "points",
            get=lambda row: assuming(
                signed_between((row.low, row.high, row.no_interval)), row.fewest
            ),
        ),
        Column("low_95", meaning=f"{both_ends}: lower end", unit="points", get="low"),
        Column("high_95", meaning=f"{both_ends}: upper end", unit="points", get="high"),
        Column("question", meaning="what low_95, high_95 and p generalise to",
               get=lambda _row: question),
    ]  # fmt: skip


def p_columns(family: str) -> list[Column]:
    return [
        Column("p", "p", "two-sided p that corresponds to this interval", "0 to 1"),
        Column("p_holm", "p Holm", f"p, Holm-adjusted over {family}", "0 to 1"),
    ]


_EQUIVALENCE = (
    "whether the 90 % interval lies within ± the margin frozen in the design (two one-sided tests,"
    f" {EACH}); a dash if the design has no margin or there is no interval"
)
EQUIVALENCE_COLUMNS = [
    Column("", "Equivalence", _EQUIVALENCE, get="equivalence"),
    Column("margin", meaning="equivalence margin frozen in the design", unit="points"),
    Column("p_equivalence", meaning="p of two one-sided tests that the difference lies within ±"
           f" margin; {EACH}", unit="0 to 1"),
    Column("low_90", meaning="lower end of the 90 % interval", unit="points"),
    Column("high_90", meaning="upper end of the 90 % interval", unit="points"),
    Column("smallest_margin", "Smallest margin", "half the 90 % interval: with these annotators and"
           " examples, equivalence within a smaller margin could not have been shown even for a"
           " difference of 0", "points"),
]  # fmt: skip
_SE = "standard error of the difference over"
_DF = "degrees of freedom for"
ERROR_COLUMNS = [
    Column("se", meaning=f"{_SE} annotators and contexts", unit="points"),
    Column("df", meaning=f"{_DF} se (Satterthwaite; at least the smaller of those for annotators"
           " and for contexts)"),
    Column("people_se", meaning=f"{_SE} annotators, on the same examples", unit="points"),
    Column("people_df", meaning=f"{_DF} people_se (Welch if there are two groups)"),
    Column("no_interval", meaning="reason for a missing interval"),
]  # fmt: skip
DIFFERENCE = Column(
    "difference",
    "Difference",
    "difference of the means, in points of the score x 100 under the task's metric",
    "points",
    signed_points,
)


# Differences between shot counts: other annotators on the same test examples.


@dataclass(frozen=True, kw_only=True)
class Contrast(Tested):
    """A contrast between two shot counts of the same task.

    `permutation_p` and `welch_p` are sensitivity analyses over annotators on the same examples.
    `floor` is the smallest p value that the permutation test can reach with so few annotators.
    """

    task: str
    from_shots: int
    to_shots: int
    n_from: int
    n_to: int
    hedges_g: float
    permutation_p: float
    floor: float
    welch_p: float

    @property
    def fewest(self) -> int:
        return min(self.n_from, self.n_to)


def contrasts(
    frame: pd.DataFrame, seed: int = 0, margin: float | None = None
) -> Sequence[Contrast]:
    """Compare each pair of a task's shot counts, with Holm's correction over the whole table.

    `frame` contains one row per answer in the annotation step: task, shots, annotator, example,
    context, score (test_sets.with_scores). `margin` is the equivalence margin in points.
    """
    cells = {(task, shots): matrix_of(part) for task, shots, part in by_cell(frame)}
    rows = [
        _contrast(task, fewer, more, cells[task, fewer], cells[task, more], seed)
        for task, fewer, more in pairs_of_shots(cells)
    ]
    return judged(rows, margin)


_Arm = tuple[Any, list[Any], Any]  # as returned by matrix_of: scores, contexts, example keys


def _contrast(task: str, fewer: int, more: int, few: _Arm, many: _Arm, seed: int) -> Contrast:
    (first, contexts, keys), (second, _contexts, other_keys) = few, many
    _shared, in_few, in_many = np.intersect1d(
        keys, other_keys, assume_unique=True, return_indices=True
    )
    first, second = first[:, in_few], second[:, in_many]
    contexts = [contexts[index] for index in in_few]
    means = list(two_way.row_means(first)), list(two_way.row_means(second))
    sizes = len(first), len(second)
    return Contrast(
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
