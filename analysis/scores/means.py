"""The mean of each cell with intervals for different questions, and its variance components.

All figures are multiplied by 100, under the metric on the task's card. Missing intervals have a
reason. No interval has zero width.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from analysis.heavy import np, pd
from analysis.stats import two_way, uncertainty
from analysis.stats.learning import by_cell

SDS = ("sd_between_annotators", "sd_between_contexts", "sd_rest")
FEW = f"fewer than {uncertainty.FEWEST_FOR_BOOTSTRAP} annotators"


@dataclass(frozen=True)
class Mean:
    """A mean x 100 with its default interval, for other annotators and other examples.

    `t_low` and `t_high` are for other annotators on the same examples. The SDs are those of the
    mean's sources of variance. Values are NaN if unknown, or if `no_interval` gives a reason.
    """

    task: str
    shots: int
    n: int
    examples: int
    contexts: int
    mean: float
    low: float
    high: float
    t_low: float
    t_high: float
    se: float
    df: float
    no_interval: str
    sd_between_annotators: float
    sd_between_contexts: float
    sd_rest: float


@dataclass(frozen=True)
class Intervals(Mean):
    """A Mean with percentile bootstraps.

    Bootstraps over annotators are NaN if `no_bootstrap` gives a reason, and the bootstrap over
    examples if `no_examples` does.
    """

    examples_low: float
    examples_high: float
    annotators_low: float
    annotators_high: float
    both_low: float
    both_high: float
    no_bootstrap: str
    no_examples: str


def means(frame: pd.DataFrame) -> list[Mean]:
    """Return one row per task and shots, without resampling.

    `frame` has one row per answer of the annotation step: task, shots, annotator, example, context,
    score and lowest (test_sets.with_scores).
    """
    return [
        Mean(**_mean(task, shots, *matrix_of(part), lowest_of(part)))
        for task, shots, part in by_cell(frame)
    ]


def matrix_of(part: pd.DataFrame) -> tuple[np.ndarray, list[Any]]:
    """Return the scores of one cell as annotators x examples, and the context of each example."""
    matrix, contexts, _keys = keyed_matrix_of(part)
    return matrix, contexts


def keyed_matrix_of(part: pd.DataFrame) -> tuple[np.ndarray, list[Any], np.ndarray]:
    """Return the matrix and contexts of `matrix_of`, and the key of each example.

    Annotators are sorted by name and examples by key. Missing answers are NaN.
    """
    names, people = np.unique(part["annotator"].to_numpy(dtype=object), return_inverse=True)
    keys, first, examples = np.unique(
        part["example"].to_numpy(), return_index=True, return_inverse=True
    )
    matrix = np.full((len(names), len(keys)), math.nan)
    matrix[people, examples] = part["score"].to_numpy(dtype=float)
    return matrix, list(part["context"].to_numpy(dtype=object)[first]), keys


def lowest_of(part: pd.DataFrame) -> float:
    return float(part["lowest"].iloc[0])


def _mean(
    task: str, shots: int, matrix: np.ndarray, contexts: Sequence[Any], lowest: float
) -> dict[str, Any]:
    own = two_way.row_means(matrix)
    estimate = two_way.of_mean(matrix, contexts)
    low, high = np.clip(estimate.interval(), lowest, 1)
    t = uncertainty.t_interval_of_scores(own, lowest)
    return {
        "task": task,
        "shots": shots,
        "n": len(matrix),
        "examples": matrix.shape[1],
        "contexts": len(set(contexts)),
        "mean": float(100 * own.mean()),
        "low": float(100 * low),
        "high": float(100 * high),
        "t_low": 100 * t.low,
        "t_high": 100 * t.high,
        "se": 100 * estimate.se,
        "df": estimate.df,
        "no_interval": estimate.why_not or uncertainty.why_no_interval(own),
        **_components(matrix, contexts),
    }


def intervals(frame: pd.DataFrame, seed: int) -> list[Intervals]:
    """Return the means with all their 95 % intervals and sources of variance."""
    rows = []
    for task, shots, part in by_cell(frame):
        matrix, contexts = matrix_of(part)
        mean = _mean(task, shots, matrix, contexts, lowest_of(part))
        enough = len(matrix) >= uncertainty.FEWEST_FOR_BOOTSTRAP
        undefined = bool(np.isnan(matrix).any())
        no_bootstrap = uncertainty.why_no_interval(two_way.row_means(matrix))
        no_bootstrap = no_bootstrap or ("" if enough else FEW)
        ends: dict[str, Any] = {}
        for over in uncertainty.OVER:
            known = not undefined and (over == "examples" or not no_bootstrap)
            interval = uncertainty.Interval(math.nan, math.nan, math.nan)
            if known:
                interval = uncertainty.bootstrap(matrix, over, clusters=contexts, seed=seed)
            ends[f"{over}_low"], ends[f"{over}_high"] = 100 * interval.low, 100 * interval.high
        ends["no_examples"] = two_way.MISSING if undefined else ""
        if ends["examples_high"] - ends["examples_low"] <= 100 * uncertainty.ROUNDING:
            ends["no_examples"] = "contexts tie" if mean["contexts"] > 1 else "one context"
            ends["examples_low"] = ends["examples_high"] = math.nan
        rows.append(Intervals(**mean, **ends, no_bootstrap=no_bootstrap))
    return rows


def _components(matrix: np.ndarray, contexts: Sequence[Any]) -> dict[str, Any]:
    """Return SDs between annotators, between contexts, and of the rest, or NaN if unknown."""
    parts = two_way.components(matrix, contexts)
    if parts is None:
        return dict.fromkeys(SDS, math.nan)
    variances = (parts.annotators, parts.contexts, parts.rest)
    return {name: 100 * math.sqrt(variance) for name, variance in zip(SDS, variances, strict=True)}
