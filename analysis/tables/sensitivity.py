"""How much the human-performance cells depend on who is counted: the same cells under other rules.

The headline counts who completed and is in the analysis. Each rule here leaves out more of them, or
takes back who was excluded by hand; a cell that moves a lot under a reasonable rule is not solid.
"""

from collections.abc import Callable
from dataclasses import dataclass

import pandas as pd

from analysis.stats.learning import by_cell
from analysis.tables import frames
from analysis.tables.columns import NOTHING, mean_and_sd
from annotation.models import Answer, Status, Step, Study
from tasks.columns import Column

TRAINING = (50, 60, 70, 80, 90)  # mean S1 x 100 in the training step, at least
SECONDS = (1, 2, 5, 10)  # median active time on an example of the annotation step, at least


@dataclass(frozen=True)
class Rule:
    """Who counts: a name for the CSV, words for the page, and the rows that are kept."""

    name: str
    words: str
    keeps: Callable[[pd.DataFrame], pd.Series]


def _training(least: int) -> Rule:
    return Rule(
        f"training_s1>={least}",
        f"training S1 ≥ {least}",
        # Zero-shot annotators have no training step to fail in.
        lambda people: (
            people["analysed"]
            & (people["training_s1"].isna() | (people["training_s1"] * 100 >= least))
        ),
    )


def _seconds(least: int) -> Rule:
    return Rule(
        f"median_seconds>={least}",
        f"median ≥ {least} s",
        lambda people: people["analysed"] & (people["median_seconds"] >= least),
    )


RULES = (
    Rule("reported", "as reported", lambda people: people["analysed"]),
    Rule(
        "with_excluded",
        "no exclusions by hand",
        lambda people: pd.Series(True, index=people.index),
    ),
    *map(_training, TRAINING),
    *map(_seconds, SECONDS),
)


def people(study: Study, kind: str) -> pd.DataFrame:
    """Who completed, of that kind, also those taken out of the analysis.

    Columns: task, shots, annotator, analysed (bool), mean_s1, training_s1 (NaN at zero shots),
    median_seconds (of active time on an example of the annotation step).
    """
    frame = frames.annotators(study)
    frame = frame[(frame["status"] == Status.COMPLETED) & (frame["kind"] == kind)].copy()
    times = Answer.objects.filter(
        turn__participation__study=study, turn__step=Step.ANNOTATION
    ).values_list("turn__participation_id", "active_seconds")
    seconds = pd.DataFrame.from_records(times.iterator(5000), columns=["participation", "seconds"])
    medians = seconds.groupby("participation")["seconds"].median()
    frame["median_seconds"] = frame["participation"].map(medians)
    frame["analysed"] = frame["analysed"].astype(bool)
    columns = ["task", "shots", "annotator", "analysed", "mean_s1", "training_s1"]
    return frame[[*columns, "median_seconds"]]


@dataclass(frozen=True)
class Row:
    """A cell under a rule: mean and SDs over annotators, x 100; NaN where undefined."""

    rule: str
    task: str
    shots: int
    mean: float
    sd_ddof1: float
    sd_ddof0: float
    n: int
    completed: int

    @property
    def text(self) -> str:
        """Mean ± SD and n; a dash where nobody is left."""
        return f"{mean_and_sd(self.mean, self.sd_ddof1) if self.n else NOTHING} (n={self.n})"


COLUMNS = [
    Column("rule", meaning="who counts"),
    Column("task", meaning="name of the task"),
    Column("shots", meaning="size of the training step"),
    Column("mean", meaning="mean over annotators of their mean S1, x 100", unit="S1 x 100"),
    Column("sd_ddof1", meaning="SD over annotators, ddof 1", unit="points"),
    Column("sd_ddof0", meaning="SD over annotators, ddof 0", unit="points"),
    Column("n", meaning="annotators that the rule leaves"),
    Column("completed", meaning="annotators who completed it, excluded or not"),
]


def rows(frame: pd.DataFrame) -> list[Row]:
    """One row per rule, task and shots, of the frame that `people` returns."""
    cells = []
    for rule in RULES:
        kept = frame[rule.keeps(frame)]
        for task, shots, everybody in by_cell(frame):
            own = 100 * kept.loc[(kept["task"] == task) & (kept["shots"] == shots), "mean_s1"]
            cells.append(
                Row(
                    rule.name,
                    task,
                    shots,
                    mean=float(own.mean()),
                    sd_ddof1=float(own.std(ddof=1)),
                    sd_ddof0=float(own.std(ddof=0)),
                    n=len(own),
                    completed=len(everybody),
                )
            )
    return cells


@dataclass(frozen=True)
class TaskTable:
    """One task of the page: rules as rows, shots as columns.

    Each cell is its text, and whether the rule made it another than reported.
    """

    task: str
    shots: list[int]
    lines: list[tuple[str, list[tuple[str, bool]]]]


def task_tables(rows: list[Row]) -> list[TaskTable]:
    """The rows as the page shows them, one table for each task."""
    cells = {(row.task, row.rule, row.shots): row.text for row in rows}
    tables = []
    for task in sorted({row.task for row in rows}):
        shots = sorted({row.shots for row in rows if row.task == task})
        reported = [cells[task, RULES[0].name, number] for number in shots]
        lines = []
        for rule in RULES:
            own = [cells[task, rule.name, number] for number in shots]
            moved = [text != first for text, first in zip(own, reported, strict=True)]
            lines.append((rule.words, list(zip(own, moved, strict=True))))
        tables.append(TaskTable(task, shots, lines))
    return tables
