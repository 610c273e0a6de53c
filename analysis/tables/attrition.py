"""Attrition by arm, next to every difference between shots: who completed, and Lee's bounds."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from typing import Any

from django.db.models import Count, Q

from analysis.stats import significance
from analysis.stats.learning import by_cell
from analysis.tables import frames
from analysis.tables.columns import percent, signed_between, signed_points
from annotation.models import LIVE, Status, Study
from tasks.columns import Column, cells, on_page


@dataclass(frozen=True)
class Attrition:
    """Two numbers of shots of a task. `began` consented and are no longer at work."""

    task: str
    from_shots: int
    to_shots: int
    began_from: int
    completed_from: int
    began_to: int
    completed_to: int
    share_from: float
    share_to: float
    p_fisher: float
    difference: float
    trimmed: float
    lee_low: float
    lee_high: float


NAME = "attrition"
TITLE = "Attrition by number of shots"
INTRO = (
    "Whether people left one group more often than the other, for each difference between shots:"
    " completed, of those who consented and are not at work any more. Those who were screened out,"
    " left, expired or withdrew did not complete. Lee's bounds say how far the difference can be"
    " due to who left, if the arm with fewer completions only loses people. They are no confidence"
    " interval: the error of sampling comes on top."
)
_SHARE = "completed, of those who consented"
COLUMNS = [
    Column("task", "Task"),
    Column("", "Shots", get=lambda row: f"{row.from_shots} → {row.to_shots}"),
    Column("from_shots", meaning="the smaller number of shots"),
    Column("to_shots", meaning="the larger number of shots"),
    *(
        column
        for end, words in (("from", "the smaller"), ("to", "the larger"))
        for column in (
            Column(
                f"began_{end}",
                meaning=f"annotators who consented, at {words} number of shots, and are not at"
                " work any more",
            ),
            Column(f"completed_{end}", meaning=f"of these, annotators who completed, {words}"),
            Column(f"share_{end}", meaning=f"completed of began, {words}", unit="0 to 1"),
        )
    ),
    Column("", "Completed, fewer shots", _SHARE, get=lambda row: _of(row, "from")),
    Column("", "Completed, more shots", _SHARE, get=lambda row: _of(row, "to")),
    Column(
        "p_fisher",
        "p Fisher",
        "two-sided p of Fisher's exact test that both arms complete alike",
        "0 to 1",
    ),
    Column(
        "difference",
        "Difference",
        "difference of the means of those in the analysis, the larger number of shots minus the"
        " smaller, in points of the score x 100",
        "points",
        signed_points,
    ),
    Column(
        "trimmed",
        "Trimmed",
        "share of the scores of the arm with more completions that the bounds trim; of a score that"
        " is trimmed in part, the rest of its weight counts",
        "0 to 1",
        percent,
    ),
    Column(
        "",
        "Lee bounds",
        "the difference without the highest and without the lowest scores of that share",
        "points",
        signed_between,
        lambda row: (row.lee_low, row.lee_high),
    ),
    Column("lee_low", meaning="Lee's lower bound of the difference", unit="points"),
    Column("lee_high", meaning="Lee's upper bound of the difference", unit="points"),
]


def rows(study: Study, kind: str) -> list[Attrition]:
    """One row per pair of shots of a task in which both have somebody in the analysis."""
    counts = _counts(study, kind)
    frame = frames.counted(frames.annotators(study), kind)
    scores = {
        (task, shots): [100 * float(score) for score in part["score"]]
        for task, shots, part in by_cell(frame)
    }
    return [
        _row(task, (less, more), (counts[task, less], counts[task, more]), scores)
        for (task, less), (other, more) in itertools.combinations(scores, 2)
        if task == other
    ]


def _row(
    task: str,
    shots: tuple[int, int],
    counts: tuple[tuple[int, int], tuple[int, int]],
    scores: dict[tuple[str, int], list[float]],
) -> Attrition:
    (began_from, done_from), (began_to, done_to) = counts
    shares = done_from / began_from, done_to / began_to
    first, second = (scores[task, number] for number in shots)
    low, high = significance.lee_bounds(first, second, shares)
    return Attrition(
        task,
        *shots,
        began_from,
        done_from,
        began_to,
        done_to,
        *shares,
        p_fisher=significance.fisher((done_from, done_to), (began_from, began_to)),
        difference=math.fsum(second) / len(second) - math.fsum(first) / len(first),
        trimmed=significance.trimmed_share(*shares),
        lee_low=low,
        lee_high=high,
    )


def _counts(study: Study, kind: str) -> dict[tuple[str, int], tuple[int, int]]:
    """Task and shots -> how many consented and are not at work; how many of them completed."""
    completed = Q(status=Status.COMPLETED)
    began = study.participations.in_cells().filter(
        completed | Q(consented_at__isnull=False), kind=kind
    )
    counted = (
        began.exclude(status__in=LIVE)
        .order_by()
        .values_list("scenario__task__name", "scenario__shots")
        .annotate(began=Count("pk"), done=Count("pk", filter=completed))
    )
    return {(task, shots): (whole, done) for task, shots, whole, done in counted}


def page_table(study: Study, kind: str) -> dict[str, Any]:
    """What the analysis page shows; without cells where there is no difference between shots."""
    return {
        "name": NAME,
        "title": TITLE,
        "intro": INTRO,
        "columns": on_page(COLUMNS),
        "cells": cells(COLUMNS, rows(study, kind)),
    }


def _of(row: Attrition, end: str) -> str:
    done, began = getattr(row, f"completed_{end}"), getattr(row, f"began_{end}")
    return f"{done} of {began} ({percent(getattr(row, f'share_{end}'))})"
