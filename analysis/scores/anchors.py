"""Anchor scores, contrasts adjusted for them, and scores obtained from the question alone."""

from __future__ import annotations

import math
from collections.abc import Iterator
from operator import attrgetter
from statistics import fmean
from types import SimpleNamespace

from django.db.models import Avg

from analysis.scores import findings, frames
from analysis.scores.columns import Table, table_columns
from analysis.scores.tested import contrasts
from analysis.stats.learning import by_cell, pairs_of_shots
from analysis.stats.significance import ancova, holm
from analysis.stats.two_way import BOTH
from analysis.stats.uncertainty import sd
from annotation.models import Answer, Step, Study
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


ANCHORS = Table(
    "anchors", "Anchors", table_columns("anchors"), anchored, needs=attrgetter("anchor_examples")
)


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


QUESTION_ALONE = Table(
    "question_alone",
    "Question alone",
    table_columns("question_alone"),
    alone,
    {"both": BOTH},
    attrgetter("context_free_annotators"),
)
