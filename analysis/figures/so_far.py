"""The shot curve on the overview page, computed on the server for an inline SVG.

There is one panel per task. It shows humans with their 95 % t interval over annotators, uploaded
models, and published figures if the task is from the paper. The template only prints these numbers.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from analysis.heavy import np
from analysis.models import model_runs
from analysis.scores import frames
from analysis.scores.performance import PerformanceTable, kinds_of, performance
from analysis.stats.uncertainty import t_interval_of_scores
from annotation.models import Kind, Study
from annotation.study import compared_files
from tasks.columns import points
from tasks.models import Task

WIDTH, HEIGHT, TOP = 210, 150, 8  # size of a panel in SVG units
FEWEST = 5  # with fewer annotators, the interval is too uncertain to draw
MAX_MODELS = 3
STEP = 20  # distance between the lines of the scale
NAMES = {Kind.PERSON: "People", Kind.SIMULATED: "Simulated", Kind.MODEL: "Models"}


@dataclass(frozen=True)
class Dot:
    """A score at its position. `is_few` marks a mean over fewer than FEWEST annotators."""

    x: float
    y: float
    is_few: bool = False


@dataclass(frozen=True)
class Series:
    """A line with its name and its scores (text or a dash) in the order of the shots."""

    name: str
    style: str  # class of the line and marks: people, model-1 ... or published
    texts: list[str]
    dots: list[Dot]
    counts: list[str]  # annotators behind each score; empty for models

    @property
    def line(self) -> str:
        """Return the points of an SVG polyline."""
        return _joined((dot.x, dot.y) for dot in self.dots)


@dataclass(frozen=True)
class Panel:
    """The panel of one task. `band` has the points of the interval polygon, or "" without one."""

    task: str
    metric: str
    shots: list[int]
    series: list[Series]
    band: str
    scale: list[tuple[int, float]]
    floor: float | None  # y position of the trivial baseline

    @property
    def drawn(self) -> list[Series]:
        """Return the series from back to front. Humans come first and are drawn on top."""
        return self.series[::-1]

    @property
    def description(self) -> str:
        said = [f"{series.name} {', '.join(series.texts)}" for series in self.series]
        shots = ", ".join(map(str, self.shots))
        return f"{self.task}, {self.metric} x 100 at {shots} shots: {'; '.join(said)}"


@dataclass(frozen=True)
class Result:
    """The current results of a study, for the first kind of annotators that has results."""

    kind: str
    panels: list[Panel]
    metrics: str
    has_published: bool

    @property
    def are_people(self) -> bool:
        return self.kind == Kind.PERSON


def for_study(study: Study) -> Result | None:
    """Return the current results, or None without completed participations."""
    frame = frames.annotators(study)
    kinds = [kind for kind in kinds_of(frame) if not frames.counted(frame, kind).empty]
    if not kinds:
        return None
    table = performance(study, kinds[0], frame)
    models = _models(table)
    counted = frames.counted(frame, kinds[0]).groupby(["task", "shots"])["score"]
    scores: dict[Any, np.ndarray] = {cell: own.to_numpy(dtype=float) for cell, own in counted}
    limits = zip(table.tasks, table.bounds, strict=True)
    drawn = [_lines(table, task, scores, models, bound.line) for task, bound in limits]
    # Use one scale for all panels, so that a steeper line means a larger gain.
    lowest = _lowest([value for lines in drawn for value in lines.values])
    panels = [_panel(table, lines, lowest) for lines in drawn]
    shown = [panel for panel in panels if any(series.dots for series in panel.series)]
    return Result(kinds[0], shown, table.metrics, table.has_published)


def _models(table: PerformanceTable) -> dict[str, dict[tuple[int, int], float]]:
    """Return mean scores x 100 by (task key, shots) for the MAX_MODELS models with most scores."""
    files = compared_files.files(table.study).filter(shots__in=table.shots)
    scores: dict[str, dict[tuple[int, int], float]] = {}
    for (model, task, shots), runs in model_runs.splits(files, table.tasks).items():
        scores.setdefault(model, {})[task, shots or 0] = model_runs.mean_of(runs, len(runs)).mean
    most = sorted(scores, key=lambda name: (-len(scores[name]), name))[:MAX_MODELS]
    return {name: scores[name] for name in most}


@dataclass(frozen=True)
class _Lines:
    """The scores in one panel: rows of (name, style, means, counts), and ends of intervals."""

    task: Task
    rows: list[tuple[str, str, list[float], list[int]]]
    ends: list[tuple[float, float]]
    floor: float

    @property
    def values(self) -> list[float]:
        lows = [low for low, _high in self.ends]
        return [self.floor, *lows, *(mean for row in self.rows for mean in row[2])]


def _lines(
    table: PerformanceTable,
    task: Task,
    scores: dict[tuple[str, int], np.ndarray],
    models: dict[str, dict[tuple[int, int], float]],
    floor: float,
) -> _Lines:
    cells = [table.cells[task.name, shots] for shots in table.shots]
    ends = [_interval(scores.get((task.name, shots))) for shots in table.shots]
    rows = [
        (NAMES[Kind(table.kind)], "people", [c.mean for c in cells], [c.n for c in cells]),
        *(
            (name, f"model-{number}", [by.get((task.pk, shots), math.nan) for shots in table.shots],
             [])
            for number, (name, by) in enumerate(models.items(), start=1)
        ),
        ("CLUES", "published", [c.published.mean if c.published else math.nan for c in cells], []),
    ]  # fmt: skip
    rows = [row for row in rows if row[1] == "people" or not all(map(math.isnan, row[2]))]
    return _Lines(task, rows, ends, floor)


def _panel(table: PerformanceTable, lines: _Lines, lowest: int) -> Panel:
    """Build the panel with these lines, on a scale from `lowest` to 100."""

    def place(index: int, score: float) -> tuple[float, float]:
        x = WIDTH * (2 * index + 1) / (2 * len(table.shots))
        return round(x, 1), round(TOP + (HEIGHT - TOP) * (100 - score) / (100 - lowest), 1)

    series = [
        Series(
            name,
            style,
            [points(mean) for mean in means],
            [
                Dot(*place(i, mean), is_few=bool(counts) and counts[i] < FEWEST)
                for i, mean in enumerate(means)
                if not math.isnan(mean)
            ],
            [str(count) for count in counts],
        )
        for name, style, means, counts in lines.rows
    ]
    known = [(i, low, high) for i, (low, high) in enumerate(lines.ends) if not math.isnan(low)]
    edge = [place(i, high) for i, _low, high in known]
    edge += [place(i, low) for i, low, _high in reversed(known)]
    return Panel(
        lines.task.name,
        lines.task.card.metric,
        list(table.shots),
        series,
        _joined(edge) if len(known) > 1 else "",
        [(value, place(0, value)[1]) for value in range(lowest, 101, STEP)],
        None if math.isnan(lines.floor) else place(0, lines.floor)[1],
    )


def _interval(scores: np.ndarray | None) -> tuple[float, float]:
    """Return the 95 % t interval of the mean over annotators, or NaN for fewer than FEWEST."""
    if scores is None or len(scores) < FEWEST or np.isnan(scores).any():
        return math.nan, math.nan
    lowest = min(0.0, float(scores.min()))
    interval = t_interval_of_scores(scores, -1 if lowest < 0 else 0)
    return 100 * interval.low, 100 * interval.high


def _lowest(values: Sequence[float]) -> int:
    """Return the start of the scale: a multiple of STEP below all values, at most 80."""
    known = [value for value in values if not math.isnan(value)]
    return min(80, STEP * math.floor(min(known, default=0) / STEP))


def _joined(places: Iterable[tuple[float, float]]) -> str:
    return " ".join(f"{x},{y}" for x, y in places)
