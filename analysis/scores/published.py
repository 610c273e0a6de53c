"""Figures quoted from papers, and a task's bounds, for comparison with measured scores.

A published figure applies to a task if the task uses the published test file. Names are not
compared, because any task may be called SST-2.
"""

import csv
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from analysis.scores import test_sets
from analysis.scores.scores import Score
from tasks import frozen
from tasks.columns import NOTHING, points
from tasks.data_report import NO_BASELINE
from tasks.models import Task

FOLDER = Path(__file__).parent / "published"


def rows_of(file: str) -> list[dict[str, str]]:
    with (FOLDER / file).open(newline="") as opened:
        return list(csv.DictReader(opened))


def _score(row: Mapping[str, str], spread: str, n: int) -> Score:
    return Score(float(row["mean"]), printed=float(row[spread] or math.nan), n=n, of=n)


@cache
def human_table4() -> dict[tuple[str, int], Score]:
    """Load human scores from CLUES, Table 4, as a mapping from (task, shots).

    The paper does not define their spread.
    """
    rows = rows_of("human_table4.csv")
    return {(row["task"], int(row["shots"])): _score(row, "sd", 3) for row in rows}


@cache
def machine_tables5_6() -> dict[tuple[str, str, str, str], Score]:
    """Load CLUES, Tables 5 and 6, as a mapping from (model, method, task, shots or "all")."""
    return {
        (row["model"], row["method"], row["task"], row["shots"]): _score(row, "sd_over_5_splits", 5)
        for row in rows_of("machine_tables5_6.csv")
    }


@cache
def test_files() -> dict[str, str]:
    """Load a mapping from the published test files' hashes to the paper's task names."""
    return {row["sha256"]: row["task"] for row in rows_of("test_files.csv")}


def name_of(task: Task) -> str:
    return test_files().get(task.test_hash, "")


def not_compared(tasks: Iterable[Task]) -> str:
    names = set(test_files().values())
    unmatched = [task.name for task in tasks if task.name in names and not name_of(task)]
    if not unmatched:
        return ""
    return f"{', '.join(unmatched)}: not compared with CLUES (same name, different data)."


# Reference lines for each score: what is possible without reading, and the highest possible score.


@dataclass(frozen=True)
class Bounds:
    """Scores x 100 on the test examples: reachable without reading, and the highest possible.

    `set_ceiling` is the highest score reachable with the allowed number of strings if all gold
    answers are treated as one set. It is NaN for tasks whose gold answers form one set anyway.
    `baseline` is NaN if the task has neither labels nor "no answer". `floors` (name, score x 100)
    are for blind choices: a random label or option under any metric, or listed candidates under S1.
    If `is_highlighted` is set, the ceiling is the highest score reachable by highlighting.
    """

    baseline_name: str
    baseline: float
    ceiling: float
    set_ceiling: float
    floors: tuple[tuple[str, float], ...]
    is_highlighted: bool

    @property
    def line(self) -> float:
        """Return the highest of the baseline and floors (a figure's lower line), or NaN."""
        values = [value for _name, value in self._limits if not math.isnan(value)]
        return max(values, default=math.nan)

    @property
    def _limits(self) -> tuple[tuple[str, float], ...]:
        return ((self.baseline_name, self.baseline), *self.floors)

    @property
    def texts(self) -> list[tuple[str, str]]:
        """Return (score, name) for the baseline and floors. Floors replace an unknown baseline."""
        pairs = self.floors if self.floors and math.isnan(self.baseline) else self._limits
        return [(points(value), name) for name, value in pairs]

    @property
    def ceiling_text(self) -> str:
        return points(self.ceiling) if self.is_highlighted else NOTHING


def bounds(task: Task) -> Bounds:
    """Return the trivial baseline (always empty, or always the majority label) and the ceiling.

    Both are computed on the test examples under the task's metric. For S1, they come from the data
    report. For other metrics, the baseline is the score of a constant answer. The ceiling for
    highlighting and the floors for listed candidates are only known for S1.
    """
    report, card = task.report, task.card
    name, baseline, ceiling = (report[key] for key in ("baseline_name", "baseline", "ceiling"))
    floors: tuple[tuple[str, float], ...] = ()
    if card.kind.is_chosen:
        name_of_chance = "a random label" if card.labels else "a random option"
        floors = ((name_of_chance, 100 * frozen.chance(task)),)
    if card.metric == test_sets.S1:
        floors = floors or tuple((floor["name"], floor["s1"]) for floor in report["floors"])
    elif card.labels or card.no_answer:
        file = test_sets.TestFile(task)
        answer = [file.commonest] if card.labels else []
        baseline = 100 * file.constant(answer, card.metric).value
        ceiling = ceiling if card.labels else math.nan
    else:
        name, baseline, ceiling = NO_BASELINE, math.nan, math.nan
    baseline, as_set = math.nan if baseline is None else baseline, 100 * frozen.set_ceiling(task)
    return Bounds(name, baseline, ceiling, as_set, floors, card.is_highlighted)


def set_note(task: Task, ceiling: float) -> str:
    """Explain the two scales of a task with alternative gold answers, and the paper's."""
    note = (
        f"{task.name}: the gold answers of an example are alternatives, and the highest S1"
        " against any of them is used; “as one set” scores the same answers against all gold"
        f" answers jointly, where the best possible answers reach {points(ceiling)}."
    )
    if name_of(task):
        note += (
            " The published figures may be on that scale: the paper does not state how it scores"
            " several gold answers, and scores of 0 or 1 for 3 x 200 answers cannot yield all of"
            " its means."
        )
    return note
