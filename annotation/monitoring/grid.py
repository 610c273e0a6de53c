"""The seats of a study as a grid: a row for each task, a column for each number of shots."""

from collections.abc import Sequence
from dataclasses import dataclass

from annotation.monitoring.seats import Seats

MAX_DRAWN = 24  # of a cell with more seats only the numbers are shown


@dataclass(frozen=True)
class Cell:
    """The seats of one scenario. `drawn` has a word for each: done, working or free."""

    row: Seats
    drawn: list[str]


@dataclass(frozen=True)
class Grid:
    """`rows` holds (task, its cells); a cell is None where a task has no such scenario."""

    columns: list[str]
    rows: list[tuple[str, list[Cell | None]]]


def grid(seats: Sequence[Seats]) -> Grid:
    """The grid of these scenarios, in their order."""
    columns: dict[tuple, str] = {}
    cells: dict[str, dict[tuple, Cell]] = {}
    ordered = sorted(seats, key=lambda row: (row.scenario.shots, row.scenario.split_number or 0))
    for row in ordered:
        scenario = row.scenario
        key = (scenario.shots, scenario.split_number, scenario.arm)
        task, _comma, label = str(scenario).partition(", ")
        columns[key] = label
        cells.setdefault(task, {})[key] = Cell(row, _drawn(row))
    tasks = sorted(cells)
    return Grid(
        list(columns.values()),
        [(task, [cells[task].get(key) for key in columns]) for task in tasks],
    )


def _drawn(row: Seats) -> list[str]:
    words = ["done"] * row.completed + ["working"] * row.working + ["free"] * row.free
    return words if len(words) <= MAX_DRAWN else []
