"""Who was admitted to each arm: counts, pass rates, and what a difference between arms contains."""

from dataclasses import dataclass
from typing import Any

from django.db.models import Count, Q

from analysis.tables.columns import share
from annotation.models import Qualification, Study
from annotation.study import admission
from tasks.columns import NOTHING, Column, cells, on_page


@dataclass(frozen=True)
class Admission:
    """One arm: how many the rule has judged and admitted.

    `split` is None at zero shots; `judged_by` is 0 where the rule judges nobody.
    """

    task: str
    shots: int
    split: int | None
    judged_by: int
    judged: int
    admitted: int

    @property
    def judged_in_words(self) -> str:
        if not self.judged_by:
            return "nobody is judged"
        return f"{self.judged_by} {'' if self.shots else 'screening '}examples"


COLUMNS = [
    Column("task", "Task"),
    Column("shots", "Shots"),
    Column(
        "split",
        "Split",
        "number of the training split; empty at zero shots",
        show=lambda number: NOTHING if number is None else str(number),
    ),
    Column("judged_by", meaning="examples by which the rule judges; 0: it judges nobody"),
    Column("", "Judged by", get="judged_in_words"),
    Column("judged", "Judged", "annotators of this kind whom the rule has judged"),
    Column("admitted", "Admitted", "of these, those admitted to the annotation step"),
    Column(
        "",
        "Pass rate",
        "admitted of judged, in percent",
        get=lambda row: share(row.admitted, row.judged) if row.judged_by else "–",
    ),
]
NAME = "admission"
TITLE = "Admission"
INTRO = (
    "Whom the rule of the design admitted in each arm. Annotators who are screened out are"
    " replaced by others who pass, so a low pass rate can raise the arm's mean whatever its"
    " annotators have learnt. A difference between arms that are judged differently can contain"
    " that rise; nothing corrects it."
)


def admissions(study: Study, kind: str) -> list[Admission]:
    """One row per scenario of the study; none where the design has no rule."""
    if study.qualification == Qualification.NONE:
        return []
    people = study.participations.filter(kind=kind, qualified__isnull=False).order_by()
    counts = {
        scenario: (judged, admitted)
        for scenario, judged, admitted in people.values_list("scenario").annotate(
            judged=Count("pk"), admitted=Count("pk", filter=Q(qualified=True))
        )
    }
    arms = study.scenarios.order_by("task__name", "shots", "split_number")
    return [
        Admission(
            task,
            shots,
            split,
            admission.judged_by(study.qualification, shots, study.screening_examples),
            *counts.get(pk, (0, 0)),
        )
        for pk, task, shots, split in arms.values_list("pk", "task__name", "shots", "split_number")
    ]


def page_table(study: Study, kind: str) -> dict[str, Any]:
    """What the analysis page shows; without cells where the design has no rule."""
    rows = admissions(study, kind)
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
