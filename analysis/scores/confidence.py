"""How confident annotators are in their test answers, and how often each level proves correct."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Iterator
from functools import partial
from operator import attrgetter
from types import SimpleNamespace
from typing import Any

from analysis.heavy import np, pd
from analysis.scores import frames
from analysis.scores.columns import Table, table_columns
from analysis.stats.learning import by_cell
from analysis.stats.uncertainty import Estimate, estimate, sums_and_resamples
from annotation.models import Confidence, Kind, Step, Study
from annotation.protocol.answering import POINTS, percent

NONE = Estimate(math.nan, math.nan, math.nan, "")
CHANCES = [percent(point) / 100 for point in POINTS]  # probability of being correct


def by_unit(
    answers: Iterable[tuple[Hashable, int, float]], units: Iterable[Hashable] = ()
) -> np.ndarray:
    """Return an array of units x points x (answers, sum of S1, sum of squared errors).

    Each answer is (unit, point from 1 to 5, S1 in [0, 1]), where units are annotators or contexts.
    """
    sums = {unit: np.zeros((len(CHANCES), 3)) for unit in units}
    for unit, point, s1 in answers:
        points = sums.setdefault(unit, np.zeros((len(CHANCES), 3)))
        points[point - 1] += 1, s1, (s1 - CHANCES[point - 1]) ** 2
    return np.stack(list(sums.values())) if sums else np.zeros((0, len(CHANCES), 3))


def measures(counts: np.ndarray) -> np.ndarray:
    """Return the mean confidence, mean S1, ECE and Brier score over the answers of each sample.

    The bins of the expected calibration error (Guo et al. 2017) are the five points of the scale.
    """
    answers, right, errors = np.moveaxis(counts, -1, 0)
    expected = answers * np.array(CHANCES)
    gaps = np.abs(right - expected)
    sums = np.stack([part.sum(-1) for part in (expected, right, gaps, errors)])
    with np.errstate(invalid="ignore"):  # a resample of contexts may contain no rated answers
        return sums / answers.sum(-1)


def _cells(study: Study, kind: str, is_pooled: bool = False) -> Iterator[SimpleNamespace]:
    """Yield the cells of human annotators or of each model that took a seat, in the paper's order.

    If `is_pooled` is set, all shot counts of a task are combined.

    `sums` covers all units and resamples of them, and `estimate` returns the first value with its
    interval. The units are annotators. For a model, they are contexts instead, since its few runs
    differ little, and all cells of a task use the same resamples.
    """
    asked = Confidence.objects.filter(
        turn__participation__in=study.participations.counted(kind), turn__step=Step.ANNOTATION
    ).order_by("pk")
    scenario = "turn__participation__scenario"
    frame = pd.DataFrame.from_records(
        asked.values_list(
            f"{scenario}__task__name", f"{scenario}__shots", "turn__participation",
            "turn__example", "value", "turn__answer__s1",
        ),
        columns=["task", "shots", "seat", "example", "point", "s1"],
    )  # fmt: skip
    if is_pooled:
        frame["shots"] = 0
    names: dict[int, Any] = {}
    unit = "seat"
    if kind == Kind.MODEL and len(frame):
        names, unit = frames.seats(study), "context"
        contexts = frames.contexts_of_tests(list(study.tasks.values_list("pk", flat=True)))
        frame[unit] = frame["example"].map(contexts)
    people = Kind(kind).label.capitalize()
    frame["who"] = [str(names.get(seat, people)) for seat in frame["seat"]]
    for who, own in frame.groupby("who"):
        for task, shots, given in by_cell(own):
            units = own.loc[own["task"] == task, unit].unique() if unit == "context" else ()
            rated = given.dropna(subset="point").astype({"point": int})
            if not len(rated):
                continue
            group = by_unit(rated[[unit, "point", "s1"]].itertuples(index=False), units)
            size = rated[unit].nunique()
            yield SimpleNamespace(
                who=who, task=task, shots=shots, n=rated["seat"].nunique(), size=size,
                skipped=len(given) - len(rated),
                sums=sums_and_resamples(group, study.seed + (0 if len(units) else shots)),
                estimate=partial(estimate, number=size, unit=PLURALS[unit], can_tie=True),
            )  # fmt: skip


def rated(study: Study, kind: str) -> Iterator[SimpleNamespace]:
    """Yield one row per cell. Estimates are x 100, except for ECE and Brier scores.

    `change` is the difference in mean confidence from the task's next smaller shot count.
    """
    prior: Any = SimpleNamespace(who="", task="")
    for cell in _cells(study, kind):
        sure, right, ece, brier = measures(cell.sums)
        cell.sure, change = sure, NONE
        if (prior.who, prior.task) == (cell.who, cell.task):
            change = cell.estimate(100 * (sure - prior.sure), number=min(cell.size, prior.size))
        values = {
            "confidence": 100 * sure, "s1": 100 * right, "over": 100 * (sure - right),
            "ece": ece, "brier": brier,
        }  # fmt: skip
        numbers = {name: cell.estimate(part) for name, part in values.items()}
        answers = int(cell.sums[0, :, 0].sum())
        yield SimpleNamespace(**vars(cell), **numbers, answers=answers, change=change)
        prior = cell


def at_points(study: Study, kind: str, is_pooled: bool = False) -> Iterator[SimpleNamespace]:
    for cell in _cells(study, kind, is_pooled):
        answers, right, _errors = np.moveaxis(cell.sums, -1, 0)
        with np.errstate(invalid="ignore"):
            shares = 100 * right / answers
        for index, chance in enumerate(CHANCES):
            if number := int(answers[0, index]):
                row = SimpleNamespace(**vars(cell), point=index + 1, answers=number)
                row.chance, row.s1 = 100 * chance, cell.estimate(shares[:, index])
                yield row


PLURALS = {"seat": "annotators", "context": "contexts"}
CONFIDENCE, CALIBRATION = (
    Table(name, name.capitalize(), table_columns(name), make, needs=attrgetter("confidence_share"))
    for name, make in (("confidence", rated), ("calibration", at_points))
)
# Columns of the calibration curve, which combines all shot counts.
POOLED = [column for column in CALIBRATION.columns if column.name != "shots"]
