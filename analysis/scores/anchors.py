"""Anchor scores, contrasts adjusted for them, and scores obtained from the question alone."""

from __future__ import annotations

import math
from collections.abc import Iterator
from operator import attrgetter
from statistics import fmean
from types import SimpleNamespace

from django.db.models import Avg

from analysis.scores import findings, frames
from analysis.scores.columns import (
    PAIR,
    SCORE,
    Table,
    mean_and_sd,
    signed_between,
    signed_points,
)
from analysis.scores.tested import DIFFERENCE, ERROR_COLUMNS, contrasts, interval_columns, p_columns
from analysis.stats.learning import by_cell, pairs_of_shots
from analysis.stats.significance import Adjusted, ancova, holm
from analysis.stats.two_way import BOTH, PEOPLE
from analysis.stats.uncertainty import sd
from annotation.models import Answer, Step, Study
from tasks.columns import Column
from tasks.models.choices import Arm


def anchored(study: Study, kind: str) -> Iterator[SimpleNamespace]:
    """Yield one row per task and pair of shot counts, if the design includes anchors.

    Each row contains the anchor scores at both shot counts, and the raw and adjusted contrasts.
    `p_holm` is corrected over all rows.
    """
    rows = list(_compared(study, kind))
    for row, p_holm in zip(rows, holm([row.adjusted.p for row in rows]), strict=True):
        row.p_holm = p_holm
        yield row


def _compared(study: Study, kind: str) -> Iterator[SimpleNamespace]:
    frame = frames.counted(frames.annotators(study), kind)
    given = Answer.objects.filter(turn__participation__study=study, turn__step=Step.ANCHOR)
    means = given.order_by().values_list("turn__participation").annotate(mean=Avg("s1"))
    frame = frame.assign(anchor=frame["participation"].map(dict(means)).astype(float))
    cells = {
        (task, shots): (list(100 * part["score"]), list(100 * part["anchor"]))
        for task, shots, part in by_cell(frame)
    }
    primary = "adjusted" if study.adjusts_for_anchors else "raw"
    for task, fewer, more in pairs_of_shots(cells):
        few, many = cells[task, fewer], cells[task, more]
        row = SimpleNamespace(
            task=task, from_shots=fewer, to_shots=more, balance=ancova((few[1], many[1])),
            raw=ancova((few[0], many[0])), adjusted=ancova((few[0], many[0]), (few[1], many[1])),
            primary=primary,
        )  # fmt: skip
        for end, values in (("from", few[1]), ("to", many[1])):
            mean = math.fsum(values) / len(values)
            numbers = {"n": len(values), "anchor_mean": mean, "anchor_sd": sd(values)}
            vars(row).update({f"{name}_{end}": value for name, value in numbers.items()})
        yield row


def _mean_and_n(values: tuple[float, float, int]) -> str:
    mean, spread, n = values
    return f"{mean_and_sd(mean, spread)} (n = {n})"


def _arm(end: str, size: str) -> list[Column]:
    of = f"({size} of shots)"
    mean, spread, n = f"anchor_mean_{end}", f"anchor_sd_{end}", f"n_{end}"
    return [
        Column("", f"Anchors, {end}", f"mean ± SD of the anchor score {of}", "", _mean_and_n,
               attrgetter(mean, spread, n)),
        Column(n, meaning=f"annotators in the analysis {of}"),
        Column(mean, meaning=f"mean anchor score {of}", unit="S1 x 100"),
        Column(spread, meaning=f"its SD (ddof 1) {of}", unit="S1 x 100"),
    ]  # fmt: skip


def _with_interval(estimate: Adjusted) -> str:
    ends = signed_between((estimate.low, estimate.high, estimate.why_not))
    return f"{signed_points(estimate.difference)} ({ends})"


def _difference(name: str, heading: str, label: str) -> list[Column]:
    level = f"of its 95 % interval, which generalises to {PEOPLE}"
    return [
        Column("", heading, f"{label} (larger - smaller number of shots), with its 95 % interval"
               f" over annotators, which generalises to {PEOPLE}", "", _with_interval, name),
        Column(name, meaning=label, unit="points", get=f"{name}.difference"),
        Column(f"{name}_low", meaning=f"lower end {level}", unit="points", get=f"{name}.low"),
        Column(f"{name}_high", meaning=f"upper end {level}", unit="points", get=f"{name}.high"),
        Column(f"{name}_no_interval", meaning="reason for a missing interval",
               get=f"{name}.why_not"),
    ]  # fmt: skip


ANCHORS = Table(
    "anchors",
    "Anchors",
    [
        *PAIR,
        *_arm("from", "the smaller number"),
        *_arm("to", "the larger number"),
        *_difference("balance", "Balance", "difference in mean anchor score"),
        *_difference("raw", "Raw", "difference in mean score"),
        *_difference("adjusted", "Adjusted", "difference in score at equal anchor scores"),
        Column("p", "p", "two-sided p of the adjusted contrast", "0 to 1", get="adjusted.p"),
        Column("p_holm", "p Holm", "p, Holm-adjusted over all adjusted contrasts in this table",
               "0 to 1"),
        Column("r", "r", "correlation between score and anchor score within arms", "-1 to 1",
               get="adjusted.r"),
        Column("primary", "Primary", "the contrast that the design declares as primary"),
    ],
    anchored,
    needs=attrgetter("anchor_examples"),
)  # fmt: skip


# How much of a task can be solved from the question alone: zero-shot scores without contexts.

NO_CONTEXT = -1  # used as a shot count, so that the two groups can be compared like any two


def alone(study: Study, kind: str) -> Iterator[SimpleNamespace]:
    """Yield one row per task, if the design has annotators who see no contexts."""
    zero = study.participations.analysed().filter(kind=kind, scenario__shots=0)
    arms = dict(zero.values_list("pk", "scenario__arm"))
    frame = findings.answers_of(study, list(arms))
    if frame.empty:
        return
    is_alone = frame["participation"].map(arms) == Arm.QUESTION
    frame["shots"] = frame["shots"].mask(is_alone, NO_CONTEXT)
    by_annotator = 100 * frame.groupby(["task", "shots", "annotator"])["score"].mean()
    for row in contrasts(frame, study.seed):
        for name, shots in (("alone", NO_CONTEXT), ("context", 0)):
            scores = list(by_annotator[row.task, shots])
            vars(row).update({f"mean_{name}": fmean(scores), f"sd_{name}": sd(scores)})
        yield row


def _group(name: str, heading: str, condition: str, n: str) -> list[Column]:
    return [
        Column("", heading, f"mean ± SD of the score {condition}", SCORE, _mean_and_n,
               attrgetter(f"mean_{name}", f"sd_{name}", n)),
        Column(f"n_{name}", meaning=f"annotators in the analysis {condition}", get=n),
        Column(f"mean_{name}", meaning=f"mean score {condition}", unit=SCORE),
        Column(f"sd_{name}", meaning=f"its SD (ddof 1) {condition}", unit="points"),
    ]  # fmt: skip


QUESTION_ALONE = Table(
    "question_alone",
    "Question alone",
    [
        Column("task", "Task"),
        *_group("alone", "Question alone", "without the context", "n_from"),
        *_group("context", "With context", "with the context, at 0 shots", "n_to"),
        DIFFERENCE,
        *interval_columns(BOTH),
        *p_columns("the tasks in this table"),
        *ERROR_COLUMNS,
    ],
    alone,
    {"both": BOTH},
    attrgetter("context_free_annotators"),
)
