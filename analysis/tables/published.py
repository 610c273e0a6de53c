"""Figures quoted from papers, to print beside measured ones; always marked as published.

They belong to a task whose test file is the published one, whatever either of them is called:
anybody may call a task SST-2.
"""

import csv
import math
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import NamedTuple

from analysis.tables.columns import mean_and_sd
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
