"""Who was admitted to each arm, and how much the rule of admission can move its mean by itself.

The counts are those of now. The gains are simulated from the design and from the scores that are
there; that takes a second a task, so the job of the analysis page does it and no page.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from django.db.models import Count, Q

from analysis.heavy import pd
from analysis.stats import selection
from analysis.stats.learning import by_cell
from analysis.stats.uncertainty import sd
from analysis.tables.columns import between, points, share, signed_points
from annotation.models import Qualification, Study
from annotation.steps import qualification
from annotation.study import admission
from tasks.columns import Column, cells, on_page


@dataclass(frozen=True)
class Selected:
    """The simulated gain of one task and number of shots, in points; NaN where it is unknown.

    `judged_by` is the number of examples that the rule sees, 0 where it judges nobody; `sd` the SD
    between annotators that was used.
    """

    task: str
    shots: int
    judged_by: int
    sd: float
    gain: float
    low: float
    high: float


@dataclass(frozen=True)
class Admission:
    """One arm: how many the rule has judged and admitted, and the gain, where it is known.

    `split` is None at zero shots; the gain is that of the task at these shots, on any split.
    """

    task: str
    shots: int
    split: int | None
    judged_by: int
    judged: int
    admitted: int
    sd: float = math.nan
    gain: float = math.nan
    low: float = math.nan
    high: float = math.nan

    @property
    def judged_in_words(self) -> str:
        if not self.judged_by:
            return "nobody is judged"
        return f"{self.judged_by} {'' if self.shots else 'screening '}examples"


COLUMNS = [
    Column("task", "Task"),
    Column("shots", "Shots"),
    Column("split", "Split", "number of the training split; empty at zero shots"),
    Column("judged_by", meaning="examples by which the rule judges; 0: it judges nobody"),
    Column("", "Judged by", get=lambda row: row.judged_in_words),
    Column("judged", "Judged", "annotators of this kind whom the rule has judged"),
    Column("admitted", "Admitted", "of these, those admitted to the annotation step"),
    Column(
        "",
        "Pass rate",
        "admitted of judged, in percent",
        get=lambda row: share(row.admitted, row.judged) if row.judged_by else "–",
    ),
    Column(
        "sd",
        "SD",
        "SD between annotators within the arms of the task, which the simulation uses",
        "points",
        points,
    ),
    Column(
        "gain",
        "Gain",
        f"points by which the rule raises the mean without anybody learning: mean of"
        f" {selection.STUDIES:,} simulated studies with this design",
        "points",
        signed_points,
    ),
    Column(
        "",
        "Of 95 % of studies",
        "the gain of 95 % of the simulated studies lies between these",
        "points",
        between,
        lambda row: (row.low, row.high),
    ),
    Column("low", meaning="2.5 % of the simulated studies gain less", unit="points"),
    Column("high", meaning="2.5 % of the simulated studies gain more", unit="points"),
]
NAME = "admission"
TITLE = "Admission"
INTRO = (
    "Whom the rule of the design admitted in each arm, and how much it can move the arm's mean by"
    " itself: who is screened out is replaced by somebody better. A difference between arms that"
    " are judged differently contains this gain."
)


def simulated(study: Study, frame: pd.DataFrame, seed: int) -> list[Selected]:
    """One row per task and shots of the frame that `findings.answered` returns."""
    means = {
        (task, shots): list(100 * part.groupby("annotator")["s1"].mean())
        for task, shots, part in by_cell(frame)
    }
    return [
        _simulated(study, task, shots, scores, _pooled_sd(means, task), seed)
        for (task, shots), scores in means.items()
    ]


def _pooled_sd(means: Mapping[tuple[str, int], Sequence[float]], task: str) -> float:
    """The SD within the arms of the task; NaN where no arm has two annotators who differ."""
    groups = [own for (name, _shots), own in means.items() if name == task and len(own) > 1]
    freedom = sum(len(own) - 1 for own in groups)
    if not freedom:
        return math.nan
    pooled = math.sqrt(sum(sd(own) ** 2 * (len(own) - 1) for own in groups) / freedom)
    return pooled or math.nan


def _simulated(
    study: Study, task: str, shots: int, scores: Sequence[float], spread: float, seed: int
) -> Selected:
    seen = admission.judged_by(study.qualification, shots, study.screening_examples)
    if not seen:
        own = selection.NO_GAIN
    elif study.qualification == Qualification.RESEARCHER:
        own = selection.UNKNOWN  # nobody can simulate what somebody decides
    else:
        rule = partial(_passes, study.qualification, study.qualification_threshold)
        average = sum(scores) / len(scores)
        own = selection.gain(average, spread, seen, study.annotators, rule, seed)
    return Selected(task, shots, seen, spread, own.mean, own.low, own.high)


def _passes(rule: str, threshold: float | None, own: float, others: Sequence[float]) -> bool:
    return qualification.verdict(rule, threshold, own, others).passes


def admissions(study: Study, kind: str, known: Sequence[Selected] = ()) -> list[Admission]:
    """One row per scenario of the study, with the simulated gains that are known.

    Empty where the design has no rule.
    """
    if study.qualification == Qualification.NONE:
        return []
    people = study.participations.filter(kind=kind, qualified__isnull=False).order_by()
    counts = {
        scenario: (judged, admitted)
        for scenario, judged, admitted in people.values_list("scenario").annotate(
            judged=Count("pk"), admitted=Count("pk", filter=Q(qualified=True))
        )
    }
    gains = {(row.task, row.shots): row for row in known}
    arms = study.scenarios.order_by("task__name", "shots", "split_number")
    rows = []
    for pk, task, shots, split in arms.values_list("pk", "task__name", "shots", "split_number"):
        seen = admission.judged_by(study.qualification, shots, study.screening_examples)
        row = Admission(task, shots, split, seen, *counts.get(pk, (0, 0)))
        own = gains.get((task, shots))
        numbers = {} if own is None else {"sd": own.sd, "gain": own.gain}
        ends = {} if own is None else {"low": own.low, "high": own.high}
        rows.append(Admission(**{**vars(row), **numbers, **ends}))
    return rows


def page_table(study: Study, kind: str, known: Sequence[Selected]) -> dict[str, Any]:
    """What the analysis page shows; without cells where the design has no rule."""
    rows = admissions(study, kind, known)
    return {
        "name": NAME,
        "title": TITLE,
        "intro": INTRO,
        "columns": on_page(COLUMNS),
        "cells": cells(COLUMNS, rows),
    }


def told(study: Study) -> list[str]:
    """How the arms are judged before the annotation step, where that is not alike in all of them.

    That some are judged and others not, or that zero-shot annotators have a screening set.
    """
    rule = (study.qualification, study.shots, study.screening_examples)
    return [
        sentence for sentence in (admission.warning(*rule), admission.screened(*rule)) if sentence
    ]
