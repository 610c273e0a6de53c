"""Figures quoted from papers, and the bounds of a task: what stands beside measured scores.

They belong to a task whose test file is the published one, whatever either of them is called:
anybody may call a task SST-2.
"""

import csv
import math
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from analysis.tables import test_sets
from analysis.tables.columns import mean_and_sd
from tasks import frozen
from tasks.columns import NOTHING, points
from tasks.data_report import NO_BASELINE
from tasks.models import Task

FOLDER = Path(__file__).parent / "published"


class Published(NamedTuple):
    """Mean and spread as printed, x 100; NaN where no spread is printed.

    The paper does not define the spread of people; that of models is an SD over five splits.
    """

    mean: float
    spread: float

    @property
    def text(self) -> str:
        return mean_and_sd(self.mean, self.spread)


@cache
def human_table4() -> dict[tuple[str, int], Published]:
    """CLUES, Table 4: (task, shots) -> human performance."""
    with (FOLDER / "human_table4.csv").open(newline="") as file:
        return {
            (row["task"], int(row["shots"])): Published(float(row["mean"]), float(row["sd"]))
            for row in csv.DictReader(file)
        }


@cache
def machine_tables5_6() -> dict[tuple[str, str, str, str], Published]:
    """CLUES, Tables 5 and 6: (model, method, task, shots) -> performance of a model.

    In the order of the paper; shots is a number as text, or "all" for full supervision.
    """
    with (FOLDER / "machine_tables5_6.csv").open(newline="") as file:
        return {
            (row["model"], row["method"], row["task"], row["shots"]): Published(
                float(row["mean"]), float(row["sd_over_5_splits"] or math.nan)
            )
            for row in csv.DictReader(file)
        }


@cache
def test_files() -> dict[str, str]:
    """Hash of a published test file (Task.test_hash) -> name of its task in the paper."""
    with (FOLDER / "test_files.csv").open(newline="") as file:
        return {row["sha256"]: row["task"] for row in csv.DictReader(file)}


def name_of(task: Task) -> str:
    """The paper's name of the task with this very test file; "" where it has none."""
    return test_files().get(task.test_hash, "")


def not_compared(tasks: Iterable[Task]) -> str:
    """A sentence on the tasks that share with the paper a name and nothing else; "" for none."""
    names = set(test_files().values())
    others = [task.name for task in tasks if task.name in names and not name_of(task)]
    if not others:
        return ""
    return f"{', '.join(others)}: same name as in CLUES, other data: not compared."


# What a task gives without reading, and at most: the lines beside every score of it.


@dataclass(frozen=True)
class Bounds:
    """What a task gives without reading, and at most: both x 100 over its test examples.

    `set_ceiling` is the most that the allowed number of texts can score where all golds are one
    set: NaN for tasks whose golds are one set anyway. `baseline` is NaN where the task accepts no
    empty answer. `floors` (name, score x 100) are those of choosing blindly: a random label or
    option under whatever metric, and S1 of listed candidates. `is_highlighted`: the ceiling is that
    of highlighting.
    """

    baseline_name: str
    baseline: float
    ceiling: float
    set_ceiling: float
    floors: tuple[tuple[str, float], ...]
    is_highlighted: bool

    @property
    def line(self) -> float:
        """What a figure draws as the least: the best of baseline and floors, NaN without any."""
        known = [value for _name, value in self._named if not math.isnan(value)]
        return max(known, default=math.nan)

    @property
    def _named(self) -> tuple[tuple[str, float], ...]:
        return ((self.baseline_name, self.baseline), *self.floors)

    @property
    def texts(self) -> list[tuple[str, str]]:
        """(score, name) of the baseline, where it is known or there is no floor, and the floors."""
        shown = self.floors if self.floors and math.isnan(self.baseline) else self._named
        return [(points(value), name) for name, value in shown]

    @property
    def ceiling_text(self) -> str:
        """That of highlighting; a dash where labels, options or texts are chosen or typed."""
        return points(self.ceiling) if self.is_highlighted else NOTHING


def bounds(task: Task) -> Bounds:
    """The trivial baseline (always empty, or the majority label) and the reachable ceiling.

    Both are of the test examples under the task's metric: under S1 as its data report has them.
    """
    report, is_highlighted = task.report, task.card.is_highlighted
    if task.card.metric != test_sets.S1:
        return _bounds_under(task, report)
    as_set = 100 * frozen.set_ceiling(task)
    floors = _chance(task)
    if not floors:
        floors = tuple((floor["name"], floor["s1"]) for floor in report["floors"])
    known = math.nan if report["baseline"] is None else report["baseline"]
    return Bounds(report["baseline_name"], known, report["ceiling"], as_set, floors, is_highlighted)


def _chance(task: Task) -> tuple[tuple[str, float], ...]:
    """The score x 100 of a random label or option; nothing of other tasks."""
    if not task.card.is_chosen:
        return ()
    name = "a random label" if task.card.labels else "a random option"
    return ((name, 100 * frozen.chance(task)),)


def _bounds_under(task: Task, report: dict[str, Any]) -> Bounds:
    """The same under another metric: a constant answer, and the ceiling where labels are chosen.

    What highlighting reaches is known for S1 alone; so are the floors of listed candidates.
    """
    floors, is_highlighted = _chance(task), task.card.is_highlighted
    as_set = 100 * frozen.set_ceiling(task)
    if not task.card.labels and not task.card.no_answer:
        return Bounds(NO_BASELINE, math.nan, math.nan, as_set, floors, is_highlighted)
    file = test_sets.TestFile(task)
    answer = [file.commonest] if task.card.labels else []
    baseline = 100 * file.constant(answer, task.card.metric).value
    ceiling = report["ceiling"] if task.card.labels else math.nan
    return Bounds(report["baseline_name"], baseline, ceiling, as_set, floors, is_highlighted)


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
