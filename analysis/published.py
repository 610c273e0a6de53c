"""Figures quoted from papers, to print beside measured ones; always marked as published."""

import csv
import math
from functools import cache
from pathlib import Path
from typing import NamedTuple

FOLDER = Path(__file__).parent / "published"


class Published(NamedTuple):
    """Mean and spread as printed, x 100; NaN where no spread is printed.

    The paper does not define the spread of people; that of models is an SD over five splits.
    """

    mean: float
    spread: float


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
