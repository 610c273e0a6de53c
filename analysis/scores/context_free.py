"""How much of a task can be done from the question alone: zero-shot scores without contexts."""

from __future__ import annotations

from operator import attrgetter
from statistics import fmean
from types import SimpleNamespace
from typing import Any

from analysis.scores import findings
from analysis.scores.columns import SCORE, Table, mean_and_sd
from analysis.scores.tested import DIFFERENCE, ERROR_COLUMNS, contrasts, interval_columns, p_columns
from analysis.stats.two_way import BOTH
from analysis.stats.uncertainty import sd
from annotation.models import Study
from tasks.columns import Column
from tasks.models.choices import Arm

ALONE = -1  # in `shots`, so that the two groups are compared like two numbers of shots


def compared(study: Study, kind: str) -> list[SimpleNamespace]:
    """Return one row per task, or [] if the design has no annotators without contexts."""
    if not study.context_free_annotators:
        return []
    zero = study.participations.analysed().filter(kind=kind, scenario__shots=0)
    arms = dict(zero.values_list("pk", "scenario__arm"))
    frame = findings.answers_of(study, list(arms))
    if frame.empty:
        return []
    is_alone = frame["participation"].map(arms) == Arm.QUESTION
    frame["shots"] = frame["shots"].mask(is_alone, ALONE)
    each = 100 * frame.groupby(["task", "shots", "annotator"])["score"].mean()
    rows = []
    for found in contrasts(frame, study.seed):
        row = SimpleNamespace(**vars(found), fewest=found.fewest)
        for name, shots in (("alone", ALONE), ("context", 0)):
            own = list(each[found.task, shots])
            vars(row).update({f"mean_{name}": fmean(own), f"sd_{name}": sd(own)})
        rows.append(row)
    return rows


def _group(name: str, heading: str, words: str, n: str) -> list[Column]:
    def summary(row: Any) -> str:
        mean, spread, number = attrgetter(f"mean_{name}", f"sd_{name}", n)(row)
        return f"{mean_and_sd(mean, spread)} (n = {number})"

    return [
        Column("", heading, f"mean ± SD of the score {words}", SCORE, get=summary),
        Column(f"n_{name}", meaning=f"annotators in the analysis {words}", get=n),
        Column(f"mean_{name}", meaning=f"mean score {words}", unit=SCORE),
        Column(f"sd_{name}", meaning=f"its SD (ddof 1) {words}", unit="points"),
    ]


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
    compared,
    {"both": BOTH},
)
