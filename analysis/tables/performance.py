"""The human-performance table (CLUES, Table 4) and the training table (appendix A.3).

A cell counts one kind only. The human table counts people; simulated annotators and models get
tables of their own, under their own heading.
"""

import math
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import pandas as pd

from analysis.tables import frames
from analysis.tables.columns import mean_and_sd
from analysis.tables.published import Published, human_table4, name_of, not_compared
from annotation.models import Kind, Status, Study
from tasks.cards import FAMILIES
from tasks.metrics import recipe
from tasks.models import Task

FAMILY_NAMES = {
    "classification": "Classification",
    "sequence_labelling": "Sequence labelling",
    "reading_comprehension": "Reading comprehension",
}


@dataclass(frozen=True)
class Bounds:
    """What a task gives without reading, and at most: both x 100 over its test examples."""

    baseline_name: str
    baseline: float
    ceiling: float


def bounds(task: Task) -> Bounds:
    """The trivial baseline (always empty, or the majority label) and the reachable ceiling.

    Both are means over the task's test examples under its gold rule, as its data report has them.
    """
    report = task.report
    return Bounds(report["baseline_name"], report["baseline"], report["ceiling"])


@dataclass(frozen=True)
class Cell:
    """One task and number of shots: mean and SDs over annotators, x 100; NaN where undefined."""

    task: str
    shots: int
    mean: float
    sd_ddof1: float
    sd_ddof0: float
    n: int
    published: Published | None

    @property
    def text(self) -> str:
        """As the paper prints it: 83.7 ± 0.6; a dash where there is nothing to print."""
        return mean_and_sd(self.mean, self.sd_ddof1)

    @property
    def explanation(self) -> str:
        """What the number is, for a reader who meets it alone."""
        if not self.n:
            return f"{self.task}, {self.shots} shots: nobody has completed it yet."
        over = f"mean S1 x 100 over {self.n} annotator{'s' if self.n > 1 else ''}"
        spread = "no SD for one annotator" if self.n == 1 else "± SD over annotators, ddof 1"
        return f"{self.task}, {self.shots} shots: {over}, {spread}."


@dataclass(frozen=True)
class PerformanceTable:
    """The study's shots as rows, its tasks grouped by family as columns, for one kind."""

    study: Study
    kind: str
    tasks: list[Task]
    shots: list[int]
    cells: dict[tuple[str, int], Cell]
    not_counted: list[str]
    with_excluded: bool = False

    @property
    def anchor(self) -> str:
        """Tells the tables of a page apart."""
        return f"{self.kind}-with-excluded" if self.with_excluded else self.kind

    @property
    def heading(self) -> str:
        kind = {
            Kind.PERSON: "Human performance",
            Kind.SIMULATED: "Simulated annotators (not people)",
            Kind.MODEL: "Models (not people)",
        }[Kind(self.kind)]
        return f"{kind}, with those excluded from the analysis" if self.with_excluded else kind

    @property
    def families(self) -> list[tuple[str, int]]:
        """(name, number of its tasks) of each family, in the order of the columns."""
        counts = Counter(task.card.family for task in self.tasks)
        return [(FAMILY_NAMES[name], counts[name]) for name in FAMILIES if counts[name]]

    @property
    def rows(self) -> list[tuple[int, list[Cell]]]:
        return [
            (shots, [self.cells[task.name, shots] for task in self.tasks]) for shots in self.shots
        ]

    @property
    def has_published(self) -> bool:
        return any(cell.published for cell in self.cells.values())

    @cached_property
    def not_compared(self) -> str:
        """A sentence on the tasks that share only a name with a published one, or ""."""
        return not_compared(self.tasks)

    @cached_property
    def bounds(self) -> list[Bounds]:
        """Baseline and ceiling of each task, in the order of the columns."""
        return [bounds(task) for task in self.tasks]

    @property
    def recipes(self) -> list[str]:
        return sorted({recipe(task.card.gold_rule) for task in self.tasks})


def performance(
    study: Study,
    kind: str = Kind.PERSON,
    frame: pd.DataFrame | None = None,
    with_excluded: bool = False,
) -> PerformanceTable:
    """The performance table of one kind; `frame` is `frames.annotators(study)`, if at hand.

    `with_excluded` also counts who completed but was taken out of the analysis: the other version,
    for a reader who wants to see what the exclusions did.
    """
    frame = frames.annotators(study) if frame is None else frame
    if with_excluded:
        frame = frame.assign(analysed=frame["status"] == Status.COMPLETED)
    tasks = sorted(
        study.tasks.with_reports(),
        key=lambda t: (FAMILIES.index(t.card.family), t.name),
    )
    shots = sorted(study.shots)
    rows: Iterable[Any] = frames.scenarios(frames.counted(frame, kind)).itertuples()
    scenarios = {(row.task, row.shots): row for row in rows}
    cells = {}
    for task in tasks:
        for number in shots:
            row = scenarios.get((task.name, number))
            mean, sd_ddof1, sd_ddof0 = (
                (row.mean, row.sd_ddof1, row.sd_ddof0) if row else (math.nan,) * 3
            )
            cells[task.name, number] = Cell(
                task.name,
                number,
                100 * mean,
                100 * sd_ddof1,
                100 * sd_ddof0,
                n=int(row.n) if row else 0,
                published=human_table4().get((name_of(task), number)),
            )
    left_out = _not_counted(frame, kind)
    return PerformanceTable(study, kind, tasks, shots, cells, left_out, with_excluded)


def versions(study: Study, kind: str, frame: pd.DataFrame) -> list[PerformanceTable]:
    """The table of that kind, followed by the one with the excluded where there are any."""
    completed = frame[(frame["kind"] == kind) & (frame["status"] == Status.COMPLETED)]
    tables = [performance(study, kind, frame)]
    if not completed["analysed"].all():
        tables.append(performance(study, kind, frame, with_excluded=True))
    return tables


def _not_counted(frame: pd.DataFrame, kind: str) -> list[str]:
    """Participations of that kind that no cell counts, in words: "2 at work"."""
    of_kind = frame[frame["kind"] == kind]
    left_out = of_kind.drop(frames.counted(frame, kind).index)
    rows: Iterable[Any] = left_out.itertuples()
    words = [
        "excluded from the analysis"
        if row.status == Status.COMPLETED
        else str(Status(row.status).label)
        for row in rows
    ]
    return [f"{count} {word}" for word, count in sorted(Counter(words).items())]


def kinds_of(frame: pd.DataFrame) -> list[str]:
    """People first (always), then the other kinds that took part."""
    others = sorted(set(frame["kind"]) - {Kind.PERSON})
    return [Kind.PERSON, *others]


def kinds(study: Study) -> list[str]:
    """The same without a frame: a query that reads no answers."""
    others = study.participations.order_by().values_list("kind", flat=True).distinct()
    return [Kind.PERSON, *sorted(set(others) - {Kind.PERSON})]


@dataclass(frozen=True)
class LongRow:
    """One cell of a table with what stands beside it: the table in long form."""

    kind: str
    task: Task
    cell: Cell
    bounds: Bounds

    @property
    def recipe(self) -> str:
        return recipe(self.task.card.gold_rule)


def all_tables(study: Study, frame: pd.DataFrame | None = None) -> list[PerformanceTable]:
    """The table of each kind that took part, as reported."""
    frame = frames.annotators(study) if frame is None else frame
    return [performance(study, kind, frame) for kind in kinds_of(frame)]


def long_rows(table: PerformanceTable) -> list[LongRow]:
    """One row per number of shots and task."""
    return [
        LongRow(table.kind, task, table.cells[task.name, shots], limits)
        for shots in table.shots
        for task, limits in zip(table.tasks, table.bounds, strict=True)
    ]


def all_rows(study: Study) -> list[LongRow]:
    """One row per kind, number of shots and task."""
    return [row for table in all_tables(study) for row in long_rows(table)]
