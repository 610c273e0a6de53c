"""Differences between numbers of shots: other people, on the same test examples."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from analysis.heavy import np, pd
from analysis.stats import significance, two_way
from analysis.stats.learning import by_cell
from analysis.tables import tested
from analysis.tables.means import keyed_matrix_of
from analysis.tables.tested import Tested


@dataclass(frozen=True, kw_only=True)
class Contrast(Tested):
    """Two numbers of shots of a task.

    `permutation_p` and `welch_p` are of annotators alone, on the same examples: sensitivity.
    `floor` is the smallest p that the permutation test can give with so few annotators.
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
    """Each pair of shots of a task; Holm's correction is over all pairs of the table.

    `frame` has one row per answer of the annotation step: task, shots, annotator, example, context,
    score (test_sets.with_scores). `margin` is that of equivalence, in points.
    """
    cells = {(task, shots): _Arm(*keyed_matrix_of(part)) for task, shots, part in by_cell(frame)}
    rows = [
        _contrast(task, less, more, cells[task, less], cells[task, more], seed)
        for (task, less), (other, more) in itertools.combinations(cells, 2)
        if task == other
    ]
    return tested.judged(rows, margin)


@dataclass(frozen=True)
class _Arm:
    """The scores of one number of shots, and the context of each example."""

    scores: np.ndarray  # annotators x examples
    contexts: Sequence[Any]
    examples: np.ndarray  # keys, in ascending order


def _contrast(task: str, less: int, more: int, few: _Arm, many: _Arm, seed: int) -> Contrast:
    _shared, in_few, in_many = np.intersect1d(
        few.examples, many.examples, assume_unique=True, return_indices=True
    )
    first, second = few.scores[:, in_few], many.scores[:, in_many]
    contexts = [few.contexts[index] for index in in_few]
    means = list(two_way.row_means(first)), list(two_way.row_means(second))
    sizes = len(first), len(second)
    return Contrast(
        task=task,
        from_shots=less,
        to_shots=more,
        n_from=sizes[0],
        n_to=sizes[1],
        hedges_g=two_way.hedges_g(*means),
        permutation_p=math.nan
        if np.isnan([*means[0], *means[1]]).any()
        else significance.permutation(*means, seed=seed),
        floor=significance.smallest_p(*sizes),
        welch_p=significance.welch(*means),
        **tested.numbers(two_way.of_difference(first, second, contexts)),
    )
