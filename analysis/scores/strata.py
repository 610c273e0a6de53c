"""S1 by stratum of the test examples, such as the genres of MNLI, for tasks that have strata."""

from __future__ import annotations

from dataclasses import dataclass
from operator import attrgetter
from typing import Any

from analysis.heavy import np
from analysis.scores import frames
from analysis.scores.columns import Table, count, signed_between, signed_points
from analysis.stats.learning import by_cell
from analysis.stats.uncertainty import sd, t_interval, why_no_interval
from annotation.models import Step, Study
from tasks.columns import Column
from tasks.models import Example, Split


@dataclass(frozen=True)
class Stratum:
    """One stratum in one cell, with figures x 100 over the annotators (NaN if undefined).

    `difference` is its mean minus the mean of the task's other examples, within annotators.
    """

    task: str
    shots: int
    stratum: str
    n: int
    examples: int
    mean: float
    sd: float
    difference: float
    low: float
    high: float
    no_interval: str
    range: float


def of_tests(study: Study) -> dict[int, str]:
    """Map the test examples of the study that have a stratum to it."""
    tests = Example.objects.filter(split__task__in=study.tasks.all(), split__kind=Split.Kind.TEST)
    return dict(tests.exclude(stratum="").values_list("pk", "stratum"))


def table(study: Study, kind: str) -> list[Stratum]:
    """Return one row per task, number of shots and stratum, or [] if no task has strata."""
    of = of_tests(study)
    if not of:
        return []
    answers = frames.answers_in_order(study, kind, Step.ANNOTATION)
    answers = answers.assign(stratum=answers["example"].map(of)).dropna(subset="stratum")
    rows = []
    for task, shots, part in by_cell(answers):
        scores: Any = part.groupby(["annotator", "stratum"])["s1"].agg(["sum", "size"]).unstack()
        sums, sizes = 100 * scores["sum"], scores["size"]
        each = sums / sizes
        others = sums.rsub(sums.sum(axis=1), axis=0) / sizes.rsub(sizes.sum(axis=1), axis=0)
        examples = part.groupby("stratum")["example"].nunique()
        for stratum in each:
            own, contrast = each[stratum], each[stratum] - others[stratum]
            ends = t_interval(contrast)
            rows.append(
                Stratum(
                    task, shots, stratum, len(own), int(examples[stratum]), float(own.mean()),
                    sd(own), float(contrast.mean()), float(ends.low), float(ends.high),
                    why_no_interval(contrast), float(np.ptp(each.mean())),
                )
            )  # fmt: skip
    return rows


_PEOPLE = "over other people on the same examples"
TABLE = Table(
    "strata",
    "S1 by stratum",
    "Strata are groups of test examples that the file names, such as genres. Comparisons of strata"
    " are descriptive and have no correction for multiple testing.",
    [
        Column("task", "Task"),
        Column("shots", "Shots"),
        Column("stratum", "Stratum"),
        Column("n", "n", "Annotators who completed and are in the analysis.", show=count),
        Column("examples", "Examples", "Test examples of the stratum.", show=count),
        Column(
            "mean",
            "Mean",
            "Mean over annotators of their mean S1 x 100 on the stratum.",
            "S1 x 100",
        ),
        Column("sd_ddof1", "SD", "SD over annotators (ddof 1).", "points", get="sd"),
        Column(
            "difference",
            "Difference",
            "Mean S1 x 100 on the stratum minus that on the task's other strata.",
            "points",
            signed_points,
        ),
        Column(
            "",
            "95 % CI",
            f"t interval of the difference, {_PEOPLE}.",
            "points",
            signed_between,
            attrgetter("low", "high", "no_interval"),
        ),
        Column("low_95", meaning=f"lower limit, {_PEOPLE}", unit="points", get="low"),
        Column("high_95", meaning=f"upper limit, {_PEOPLE}", unit="points", get="high"),
        Column("no_interval", meaning="why there is no interval"),
        Column(
            "range",
            "Range",
            "Highest minus lowest mean of the strata at this number of shots.",
            "points",
        ),
    ],
    table,
)
