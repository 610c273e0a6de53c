"""Each cell's mean, with its intervals and variance components; S1 by stratum; human ceilings.

The intervals answer different questions. Figures are multiplied by 100. Means and intervals use the
metric on the task's card, the other two tables S1. Each missing interval comes with a reason.
Intervals never have zero width.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from types import SimpleNamespace
from typing import Any

from analysis.heavy import np, pd
from analysis.scores import frames
from analysis.scores.columns import FEW_ANNOTATORS, Table, table_columns
from analysis.stats import agreement, two_way, uncertainty
from analysis.stats.learning import by_cell
from annotation.models import Step, Study
from tasks.columns import NOTHING, points
from tasks.metrics import s1
from tasks.models import Example, Split

SDS = ("sd_between_annotators", "sd_between_contexts", "sd_rest")


def means(frame: pd.DataFrame) -> list[SimpleNamespace]:
    """Return one row per task and shot count, without resampling.

    `frame` contains one row per answer in the annotation step: task, shots, annotator, example,
    context, and test_sets.with_scores's score and lowest.
    """
    return [
        SimpleNamespace(**_mean(task, shots, *matrix_of(part)[:2], lowest_of(part)))
        for task, shots, part in by_cell(frame)
    ]


def matrix_of(part: pd.DataFrame) -> tuple[np.ndarray, list[Any], np.ndarray]:
    """Return a cell's scores as annotators x examples, and the contexts and keys of the examples.

    Rows are sorted by name and columns by key. NaN marks missing answers.
    """
    matrix = part.pivot(index="annotator", columns="example", values="score")
    contexts = part.drop_duplicates("example").set_index("example")["context"]
    return np.ascontiguousarray(matrix), list(contexts[matrix.columns]), matrix.columns.to_numpy()


def lowest_of(part: pd.DataFrame) -> float:
    return float(part["lowest"].iloc[0])


def _mean(
    task: str, shots: int, matrix: np.ndarray, contexts: Sequence[Any], lowest: float
) -> dict[str, Any]:
    """Return a mean x 100 with its default interval, which covers other annotators and examples.

    `t_low` and `t_high` apply to other annotators on the same examples. The SDs belong to the
    mean's sources of variance. Interval ends are NaN if `no_interval` gives a reason.
    """
    row_means = two_way.row_means(matrix)
    estimate = two_way.mean_estimate(matrix, contexts)
    low, high = np.clip(estimate.interval(), lowest, 1)
    t = uncertainty.t_interval_of_scores(row_means, lowest)
    parts = two_way.components(matrix, contexts)
    sds = [math.nan] * 3
    if parts is not None:
        sds = [100 * math.sqrt(part) for part in (parts.annotators, parts.contexts, parts.rest)]
    return {
        "task": task, "shots": shots, "n": len(matrix), "examples": matrix.shape[1],
        "contexts": len(set(contexts)), "mean": float(100 * row_means.mean()),
        "low": float(100 * low), "high": float(100 * high), "t_low": 100 * t.low,
        "t_high": 100 * t.high, "se": 100 * estimate.se, "df": estimate.df,
        "no_interval": estimate.why_not or uncertainty.why_no_interval(row_means),
        **dict(zip(SDS, sds, strict=True)),
    }  # fmt: skip


def intervals(frame: pd.DataFrame, seed: int) -> Iterator[SimpleNamespace]:
    """Yield the means with their percentile bootstrap intervals (`examples_low` etc.).

    An interval is NaN if `no_bootstrap` or `no_examples` gives a reason.
    """
    for task, shots, part in by_cell(frame):
        matrix, contexts, _keys = matrix_of(part)
        mean = _mean(task, shots, matrix, contexts, lowest_of(part))
        enough = len(matrix) >= uncertainty.FEWEST_FOR_BOOTSTRAP
        undefined = bool(np.isnan(matrix).any())
        no_bootstrap = uncertainty.why_no_interval(two_way.row_means(matrix))
        no_bootstrap = no_bootstrap or ("" if enough else FEW_ANNOTATORS)
        ends: dict[str, Any] = {}
        for over in uncertainty.OVER:
            is_computed = not undefined and (over == "examples" or not no_bootstrap)
            interval = uncertainty.Interval(math.nan, math.nan, math.nan)
            if is_computed:
                interval = uncertainty.bootstrap(matrix, over, clusters=contexts, seed=seed)
            ends[f"{over}_low"], ends[f"{over}_high"] = 100 * interval.low, 100 * interval.high
        ends["no_examples"] = two_way.MISSING if undefined else ""
        if ends["examples_high"] - ends["examples_low"] <= 100 * uncertainty.ROUNDING:
            ends["no_examples"] = "contexts tie" if mean["contexts"] > 1 else "one context"
            ends["examples_low"] = ends["examples_high"] = math.nan
        yield SimpleNamespace(**mean, **ends, no_bootstrap=no_bootstrap)


# S1 by stratum of the test examples, for example by genre in MNLI.


def strata_of(study: Study) -> dict[int, str]:
    tests = Example.objects.filter(split__task__in=study.tasks.all(), split__kind=Split.Kind.TEST)
    return dict(tests.exclude(stratum="").values_list("pk", "stratum"))


def by_stratum(study: Study, kind: str) -> Iterator[SimpleNamespace]:
    """Yield one row per task, shot count and stratum, or nothing if none of the tasks has strata.

    Figures are x 100 over annotators (NaN if undefined). `difference` is computed within each
    annotator: mean of the stratum - mean of the task's other strata.
    """
    of = strata_of(study)
    if not of:
        return
    answers = frames.answers_in_order(study, kind, Step.ANNOTATION)
    answers = answers.assign(stratum=answers["example"].map(of)).dropna(subset="stratum")
    for task, shots, part in by_cell(answers):
        scores: Any = part.groupby(["annotator", "stratum"])["s1"].agg(["sum", "size"]).unstack()
        sums, sizes = 100 * scores["sum"], scores["size"]
        averages = sums / sizes
        outside = sums.rsub(sums.sum(axis=1), axis=0) / sizes.rsub(sizes.sum(axis=1), axis=0)
        examples = part.groupby("stratum")["example"].nunique()
        for stratum in averages:
            column, contrast = averages[stratum], averages[stratum] - outside[stratum]
            ends = uncertainty.t_interval(contrast)
            yield SimpleNamespace(
                task=task, shots=shots, stratum=stratum, n=len(column),
                examples=int(examples[stratum]), mean=float(column.mean()),
                sd=uncertainty.sd(column), difference=float(contrast.mean()),
                low=float(ends.low), high=float(ends.high),
                no_interval=uncertainty.why_no_interval(contrast),
            )  # fmt: skip


STRATA = Table("strata", "S1 by stratum", table_columns("strata"), by_stratum)

# How well human annotators do: agreement with each other, and the best and worst scores. A gold
# answer is only one annotation. The leave-one-out score measures how well an annotator matches the
# majority of the others. It is neither a score against the gold answers nor an upper bound for
# models, which can match the majority more often than any annotator does. A majority of fewer than
# four others is nearly unanimous, so the score would cover only easy examples.

FEWEST_FOR_MAJORITY = 5  # annotators, so that each can be compared with four others
TOO_FEW = "fewer than five annotators"
NO_MAJORITY = "no answer can be compared with a majority"
SAME = 1e-9  # points: sums of the same scores may differ in their last digits


def ceilings(frame: pd.DataFrame, seed: int = 0) -> Iterator[SimpleNamespace]:
    """Yield one row per task and shot count. `frame` comes from `findings.answered`.

    Scores are multiplied by 100. `leave_one_out` is NaN if `no_leave_one_out` gives a reason. The
    others reach a majority for `compared` of the `answers`. `best` and `worst` are the highest and
    lowest mean S1 against the gold answers, each with the first annotator to reach it.
    """
    for task, shots, part in by_cell(frame):
        means = 100 * part.groupby("annotator")["s1"].mean().sort_index()
        scores = _leave_one_out_scores(part) if len(means) >= FEWEST_FOR_MAJORITY else {}
        # Weight annotators equally, as the cell's mean does.
        majority_means = [math.fsum(each) / len(each) for each in scores.values()]
        leave_one_out = float(100 * np.mean(majority_means)) if majority_means else math.nan
        why_not = "" if scores else NO_MAJORITY if len(means) >= FEWEST_FOR_MAJORITY else TOO_FEW
        yield SimpleNamespace(
            task=task, shots=shots, n=len(means), leave_one_out=leave_one_out,
            no_leave_one_out=why_not, compared=sum(map(len, scores.values())), answers=len(part),
            best=float(means.max()), worst=float(means.min()),
            best_annotator=str(means.index[means >= means.max() - SAME][0]),
            worst_annotator=str(means.index[means <= means.min() + SAME][0]),
        )  # fmt: skip


def _leave_one_out_scores(part: pd.DataFrame) -> dict[str, list[float]]:
    """Return each annotator's S1 on each example, with the majority of the others as the gold."""
    scores: dict[str, list[float]] = {}
    cache: dict[tuple[Any, ...], list[float | None]] = {}  # with few labels, the same units recur
    for _example, unit in part.groupby("example", sort=False):
        key = tuple(unit["texts"]), bool(unit["is_one_choice"].iloc[0])
        if key not in cache:
            cache[key] = _unit_scores(*key)
        for name, score in zip(unit["annotator"], cache[key], strict=True):
            if score is not None:
                scores.setdefault(name, []).append(score)
    return scores


def _unit_scores(answers: Sequence[frozenset[str]], is_one_choice: bool) -> list[float | None]:
    if len(answers) > 1 and len(set(answers)) == 1:
        return [1.0] * len(answers)  # all others gave the same answer
    majorities = agreement.majorities_of_others(answers, is_one_choice)
    return [
        None if majority is None else s1(answer, majority)
        for answer, majority in zip(answers, majorities, strict=True)
    ]


def _leave_one_out(row: SimpleNamespace) -> str:
    why_not = row.no_leave_one_out
    return f"{NOTHING} ({why_not})" if why_not else points(row.leave_one_out)


CEILING = table_columns(
    "ceiling",
    leave_one_out_shown=_leave_one_out,
    compared_shown=lambda row: f"{row.compared} of {row.answers}",
)
