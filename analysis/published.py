"""Figures quoted from papers, to print beside measured ones; always marked as published."""

import csv
from functools import cache
from pathlib import Path
from typing import NamedTuple

FOLDER = Path(__file__).parent / "published"


class Published(NamedTuple):
    """Mean and spread as printed, x 100. The paper does not define its spread."""

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
