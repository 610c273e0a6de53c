"""How sure annotators are of their test answers, and how often they are right at each point."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from operator import attrgetter
from types import SimpleNamespace
from typing import Any

from analysis.heavy import np, pd
from analysis.scores.columns import CELL, Table, estimated
from analysis.stats.learning import by_cell
from analysis.stats.uncertainty import Estimate, estimate, sums_and_resamples
from annotation.models import Confidence, Step, Study
from annotation.protocol.confidence import POINTS, percent
from tasks.columns import Column

NONE: Estimate = (math.nan, math.nan, math.nan, "")
CHANCES = [percent(point) / 100 for point in POINTS]  # probability of being right


def by_annotator(answers: Iterable[tuple[int, int, float]]) -> np.ndarray:
    """Return annotators x points x (answers, sum of S1, sum of squared errors).

    The answers are (annotator, point from 1 to 5, S1 in [0, 1]).
    """
    sums: dict[int, np.ndarray] = {}
    for annotator, point, s1 in answers:
        points = sums.setdefault(annotator, np.zeros((len(CHANCES), 3)))
        points[point - 1] += 1, s1, (s1 - CHANCES[point - 1]) ** 2
    return np.stack(list(sums.values())) if sums else np.zeros((0, len(CHANCES), 3))


def measures(sums: np.ndarray) -> np.ndarray:
    """Return mean confidence, mean S1, ECE and Brier score over answers, for each sample.

    The bins of the expected calibration error (Guo et al. 2017) are the five points.
    """
    answers, right, errors = np.moveaxis(sums, -1, 0)
    expected = answers * np.array(CHANCES)
    gaps = np.abs(right - expected)
    return np.stack([part.sum(-1) for part in (expected, right, gaps, errors)]) / answers.sum(-1)


def _cells(study: Study, kind: str) -> Iterator[tuple[str, int, int, np.ndarray]]:
    """Yield each cell's task, shots, skipped questions and group, in the paper's order."""
    people = study.participations.counted(kind)
    rows = Confidence.objects.filter(
        turn__participation__in=people, turn__step=Step.ANNOTATION
    ).order_by("pk")
    scenario = "turn__participation__scenario"
    frame = pd.DataFrame.from_records(
        rows.values_list(
            f"{scenario}__task__name", f"{scenario}__shots", "turn__participation", "value",
            "turn__answer__s1",
        ),
        columns=["task", "shots", "seat", "point", "s1"],
    )  # fmt: skip
    for task, shots, given in by_cell(frame):
        rated = given.dropna(subset="point").astype({"point": int})
        if len(rated):
            answers = rated[["seat", "point", "s1"]].itertuples(index=False)
            yield task, shots, len(given) - len(rated), by_annotator(answers)


def rated(study: Study, kind: str) -> Iterator[SimpleNamespace]:
    """Yield one row per cell. Estimates are x 100, except for ECE and Brier.

    `change` is the mean confidence minus that at the next smaller number of shots of the task.
    """
    prior: tuple[str, np.ndarray, int] = ("", np.array([]), 0)
    for task, shots, skipped, group in _cells(study, kind):
        n = len(group)
        sums = sums_and_resamples(group, study.seed + shots)
        sure, right, ece, brier = measures(sums)
        change = estimate(100 * (sure - prior[1]), min(n, prior[2])) if prior[0] == task else NONE
        values = {
            "confidence": 100 * sure, "s1": 100 * right, "over": 100 * (sure - right),
            "ece": ece, "brier": brier,
        }  # fmt: skip
        numbers: dict[str, Any] = {name: estimate(part, n) for name, part in values.items()}
        numbers |= {"answers": int(group[:, :, 0].sum()), "skipped": skipped, "change": change}
        yield SimpleNamespace(task=task, shots=shots, n=n, **numbers)
        prior = task, sure, n


def at_points(study: Study, kind: str) -> Iterator[SimpleNamespace]:
    for task, shots, _skipped, group in _cells(study, kind):
        sums = sums_and_resamples(group, study.seed + shots)
        answers, right, _errors = np.moveaxis(sums, -1, 0)
        with np.errstate(invalid="ignore"):
            shares = 100 * right / answers
        for index, chance in enumerate(CHANCES):
            if number := int(answers[0, index]):
                row = SimpleNamespace(task=task, shots=shots, point=index + 1, answers=number)
                row.chance, row.s1 = 100 * chance, estimate(shares[:, index], len(group))
                yield row


_N = Column("n", "n", "annotators in the analysis who rated at least one answer")
CONFIDENCE = Table(
    "confidence",
    "Confidence",
    [
        *CELL[:2],
        _N,
        Column("answers", "Answers", "rated answers"),
        Column("skipped", "Skipped", "questions about confidence that annotators skipped"),
        *estimated("confidence", "Confidence", "mean confidence", "percent", "mean_confidence"),
        *estimated("s1", "S1", "mean S1 of the rated answers", "S1 x 100", "s1_rated"),
        *estimated("over", "Overconfidence", "mean confidence minus mean S1", "points",
                   "overconfidence"),
        *estimated("ece", "ECE", "expected calibration error", "0 to 1"),
        *estimated("brier", "Brier", "Brier score", "0 to 1"),
        *estimated("change", "Change", "mean confidence minus that at the next smaller number of"
                   " shots", "points"),
    ],
    rated,
    needs=attrgetter("confidence_share"),
)  # fmt: skip
CALIBRATION = Table(
    "calibration",
    "Calibration",
    [
        *CELL[:2],
        Column("point", "Point", "confidence, from 1 to 5"),
        Column("chance", "Confidence", "probability of being right that the point means",
               "percent"),
        Column("answers", "Answers", "answers with this point"),
        *estimated("s1", "S1", "mean S1 of these answers", "S1 x 100", "s1_rated"),
    ],
    at_points,
    needs=attrgetter("confidence_share"),
)  # fmt: skip
