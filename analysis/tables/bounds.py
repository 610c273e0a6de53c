"""What a task gives without reading, and at most: the lines beside every score of it."""

import math
from dataclasses import dataclass
from typing import Any

from analysis.tables import test_sets
from analysis.tables.columns import points
from analysis.tables.published import name_of
from tasks import frozen
from tasks.data_report import NO_BASELINE
from tasks.models import Task


@dataclass(frozen=True)
class Bounds:
    """What a task gives without reading, and at most: both x 100 over its test examples.

    `set_ceiling` is the most that the allowed number of texts can score where all golds are one
    set: NaN for tasks whose golds are one set anyway. `baseline` is NaN where the task accepts no
    empty answer; `floors` (name, S1 x 100) are then those of choosing blindly, if the file lists
    candidates.
    """

    baseline_name: str
    baseline: float
    ceiling: float
    set_ceiling: float
    floors: tuple[tuple[str, float], ...]

    @property
    def line(self) -> float:
        """What a figure draws as the least: the baseline, else the best floor, else NaN."""
        return max((s1 for _name, s1 in self.floors), default=self.baseline)

    @property
    def baseline_text(self) -> str:
        return points(self.baseline)

    @property
    def ceiling_text(self) -> str:
        return points(self.ceiling)


def bounds(task: Task) -> Bounds:
    """The trivial baseline (always empty, or the majority label) and the reachable ceiling.

    Both are of the test examples under the task's metric: under S1 as its data report has them.
    """
    report = task.report
    if task.card.metric != test_sets.S1:
        return _bounds_under(task, report)
    as_set = 100 * frozen.set_ceiling(task)
    name, baseline = report["baseline_name"], report["baseline"]
    if not task.card.labels and not task.card.no_answer:  # also in reports of version 0.1.0
        name, baseline = NO_BASELINE, None
    floors = tuple((floor["name"], floor["s1"]) for floor in report.get("floors", ()))
    ceiling = report["ceiling"]
    return Bounds(name, math.nan if baseline is None else baseline, ceiling, as_set, floors)


def _bounds_under(task: Task, report: dict[str, Any]) -> Bounds:
    """The same under another metric: a constant answer, and the ceiling where labels are chosen.

    What highlighting reaches is known for S1 alone; so are the floors.
    """
    as_set = 100 * frozen.set_ceiling(task)
    if not task.card.labels and not task.card.no_answer:
        return Bounds(NO_BASELINE, math.nan, math.nan, as_set, ())
    file = test_sets.TestFile(task)
    answer = [file.commonest] if task.card.labels else []
    baseline = 100 * file.constant(answer, task.card.metric).value
    ceiling = report["ceiling"] if task.card.labels else math.nan
    return Bounds(report["baseline_name"], baseline, ceiling, as_set, ())


def set_note(task: Task, ceiling: float) -> str:
    """What the two scales of a task with alternative golds are, and which the paper may be on."""
    sentence = (
        f"{task.name}: the golds of an example are alternatives, and the best S1 against one of"
        f" them counts; “as one set” scores the same answers against all of them together, where"
        f" the best possible answers reach {points(ceiling)}."
    )
    if name_of(task):
        sentence += (
            " The published figures may be on that scale: the paper does not say how it scores"
            " several golds, and scores of 0 or 1 for 3 x 200 answers cannot give all of its means."
        )
    return sentence
