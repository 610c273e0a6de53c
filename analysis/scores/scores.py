"""Scores over annotators or splits, their average over tasks, published scores, and bounds."""

from __future__ import annotations

import csv
import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from analysis.heavy import np
from analysis.scores import test_sets
from analysis.scores.columns import mean_and_sd, with_remark
from analysis.scores.markup import rendered
from tasks import frozen
from tasks.columns import NOTHING, points
from tasks.data_report import NO_BASELINE
from tasks.models import Task


@dataclass(frozen=True)
class Score:
    """The mean and SDs x 100 over `n` of `of` units (NaN: undefined), or `printed` if published."""

    mean: float = math.nan
    sd_ddof1: float = math.nan
    sd_ddof0: float = math.nan
    printed: float = math.nan
    n: int = 0
    of: int = 0
    remark: str = ""  # what to report alongside the score, or why it is undefined

    @property
    def spread(self) -> float:
        return self.sd_ddof1 if math.isnan(self.printed) else self.printed

    @property
    def text(self) -> str:
        return with_remark(mean_and_sd(self.mean, self.spread), self.remark)

    @property
    def lacks_sd(self) -> bool:
        return math.isnan(self.spread) and not math.isnan(self.mean)

    @property
    def shown(self) -> str:
        """Return the text shown on pages, where a mean without an SD is not followed by ±."""
        return with_remark(points(self.mean), self.remark) if self.lacks_sd else self.text


def over(values: Sequence[float], of: int, remarks: Sequence[str] = ()) -> Score:
    """Return the mean and both SDs (x 100) of scores in [0, 1]. `of` is the largest possible n.

    `remarks` correspond to the values. A single undefined value (NaN) makes the mean undefined.

    >>> over([0.5, 0.7], 5).text
    '60.0 ± 14.1'
    """
    if not values:
        return Score(of=of)
    scores = 100 * np.asarray(values, dtype=float)
    sd = float(scores.std(ddof=1)) if len(scores) > 1 else math.nan
    return Score(
        float(scores.mean()),
        sd,
        float(scores.std(ddof=0)),
        n=len(scores),
        of=of,
        remark=counted_remarks(remarks),
    )


def counted_remarks(remarks: Iterable[str]) -> str:
    """Return a remark for a mean over annotators, such as "constant prediction (1 of 3)"."""
    texts = list(remarks)
    counts = Counter(remark for remark in texts if remark)
    return "; ".join(f"{remark} ({times} of {len(texts)})" for remark, times in counts.items())


@dataclass(frozen=True)
class Aggregate:
    """The mean over tasks x 100 with both definitions of its SD (NaN if any task has no SD)."""

    mean: float
    sd_of_sum: float
    sd_of_average: float
    tasks: int

    @property
    def score(self) -> Score:
        return Score(self.mean, self.sd_of_average)


def aggregate(
    means: Sequence[float], spreads: Sequence[float], covariance: float = 0.0
) -> Aggregate:
    """Average over tasks. `covariance` is the sum over pairs of tasks (0 if independent).

    `sd_of_sum` is the square root of the sum of variances, as in the CLUES README; this is the SD
    of the sum over tasks. `sd_of_average` divides it by the number of tasks to give the SD of the
    mean.

    >>> aggregate([50, 70], [3, 4])
    Aggregate(mean=60.0, sd_of_sum=5.0, sd_of_average=2.5, tasks=2)
    """
    if len(means) != len(spreads) or not len(means):
        raise ValueError("an aggregate needs one mean and one SD for each of one or more tasks")
    variance = math.fsum(spread**2 for spread in spreads) + 2 * covariance
    total = math.sqrt(variance) if math.isnan(variance) else math.sqrt(max(variance, 0.0))
    return Aggregate(math.fsum(means) / len(means), total, total / len(means), len(means))


# Figures quoted from papers, for comparison with measured scores. A published figure applies to a
# task if the task uses the published test file. Names are not compared, because any task may be
# called SST-2.

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
    values = {"task": task.name, "ceiling": points(ceiling), "is_published": name_of(task)}
    return rendered("cell", values, only="set_note")["set_note"]
