"""The shot curve on the overview page, computed on the server for an inline SVG.

There is one panel per task. It shows humans with their 95% t interval over annotators, uploaded
models, and published figures if the task comes from the paper. The template only prints the numbers
computed here.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from types import SimpleNamespace
from typing import Any

from analysis.heavy import np
from analysis.models import model_runs
from analysis.scores import frames
from analysis.scores.performance import PerformanceTable, kinds, performance
from analysis.stats.uncertainty import t_interval_of_scores
from annotation.models import Kind, Study
from annotation.study import compared_files
from tasks.columns import points, shots_text
from tasks.models import Task

WIDTH, HEIGHT, TOP = 210, 150, 8  # size of a panel in SVG units
FEWEST = 5  # with fewer annotators, the point is drawn hollow
MAX_MODELS = 3
STEP = 20  # distance between gridlines
NAMES = {Kind.PERSON: "People", Kind.SIMULATED: "Simulated", Kind.MODEL: "Models"}


def for_study(study: Study, of_kind: str = "") -> SimpleNamespace | None:
    frame = frames.annotators(study)
    possible = [of_kind] if of_kind else kinds(study)
    kind = next((kind for kind in possible if not frames.counted(frame, kind).empty), None)
    if kind is None:
        return None
    table = performance(study, kind, frame)
    models = _models(table)
    counted = frames.counted(frame, kind).groupby(["task", "shots"])["score"]
    scores: dict[Any, np.ndarray] = {cell: group.to_numpy(dtype=float) for cell, group in counted}
    limits = zip(table.tasks, table.bounds, strict=True)
    all_lines = [_lines(table, task, scores, models, bound.line) for task, bound in limits]
    # Use the same scale for all panels, so that a steeper line means a larger gain.
    values = [lines.floor for lines in all_lines]
    for lines in all_lines:
        values += [low for low, _high in lines.ends] + [m for row in lines.rows for m in row[2]]
    # The scale starts at a multiple of STEP below all values, but no higher than 80.
    numbers = [value for value in values if not math.isnan(value)]
    lowest = min(80, STEP * math.floor(min(numbers, default=0) / STEP))
    panels = [_panel(table, lines, lowest) for lines in all_lines]
    return SimpleNamespace(
        kind=kind, are_people=kind == Kind.PERSON,
        panels=[panel for panel in panels if any(series.dots for series in panel.series)],
        metrics=table.metrics, has_bars=any(panel.bars for panel in panels),
        has_few=any(0 < n < FEWEST for lines in all_lines for n in lines.rows[0][3]),
        has_published=table.has_published,
    )  # fmt: skip


def _models(table: PerformanceTable) -> dict[str, dict[tuple[int, int], float]]:
    """Map (task key, shots) to mean scores x 100, for the MAX_MODELS models with most scores."""
    files = compared_files.files(table.study).filter(shots__in=table.shots)
    scores: dict[str, dict[tuple[int, int], float]] = {}
    for (model, task, shots), runs in model_runs.splits(files, table.tasks).items():
        scores.setdefault(model, {})[task, shots or 0] = model_runs.mean_of(runs, len(runs)).mean
    names = sorted(scores, key=lambda name: (-len(scores[name]), name))[:MAX_MODELS]
    return {name: scores[name] for name in names}


def _lines(
    table: PerformanceTable,
    task: Task,
    scores: dict[tuple[str, int], np.ndarray],
    models: dict[str, dict[tuple[int, int], float]],
    floor: float,
) -> SimpleNamespace:
    """Return a panel's scores as rows of (name, style, means, counts), and its interval ends."""
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
    return SimpleNamespace(task=task, rows=rows, ends=ends, floor=floor, shots=table.shots)


def _panel(table: PerformanceTable, lines: SimpleNamespace, lowest: int) -> SimpleNamespace:
    """Return the panel with these lines, on a scale from `lowest` to 100.

    `counts` contains the number of annotators per score, and is empty for models. `is_few` marks
    means over fewer than FEWEST, and a dot shows `text` on hover. `drawn` lists the series from
    back to front, ending with humans. `bars` are the intervals (x, upper y, lower y), `band`
    contains the points of their polygon, and `floor` is the y position of the trivial baseline.
    """

    def place(index: int, score: float) -> tuple[float, float]:
        x = WIDTH * (2 * index + 1) / (2 * len(table.shots))
        return round(x, 1), round(TOP + (HEIGHT - TOP) * (100 - score) / (100 - lowest), 1)

    series = []
    for name, style, means, counts in lines.rows:
        places = {i: place(i, mean) for i, mean in enumerate(means) if not math.isnan(mean)}
        dots = [
            SimpleNamespace(
                x=x,
                y=y,
                text=_text(lines, name, i, means[i], counts),
                is_few=bool(counts) and counts[i] < FEWEST,
            )
            for i, (x, y) in places.items()
        ]
        series.append(
            SimpleNamespace(
                name=name,
                style=style,  # CSS class of the line and marks: people, model-1 ... or published
                texts=list(map(points, means)),
                dots=dots,
                line=_joined(places.values()),
                counts=list(map(str, counts)),
            )
        )
    intervals = [(i, low, high) for i, (low, high) in enumerate(lines.ends) if not math.isnan(low)]
    bars = [(*place(i, high), place(i, low)[1]) for i, low, high in intervals]
    edge = [(x, high) for x, high, _low in bars] + [(x, low) for x, _high, low in bars[::-1]]
    task, metric = lines.task.name, lines.task.card.metric
    summary = "; ".join(f"{each.name} {', '.join(each.texts)}" for each in series)
    shots = ", ".join(map(str, table.shots))
    return SimpleNamespace(
        task=task, metric=metric,
        shots=[(shots, place(index, 0)[0]) for index, shots in enumerate(table.shots)],
        series=series, drawn=series[::-1], bars=bars,
        band=_joined(edge) if len(intervals) > 1 else "",
        scale=[(value, place(0, value)[1]) for value in range(lowest, 101, STEP)],
        floor=None if math.isnan(lines.floor) else place(0, lines.floor)[1],
        description=f"{task}, {metric} x 100 at {shots_text(shots)}: {summary}",
    )  # fmt: skip


def _text(lines: SimpleNamespace, name: str, index: int, mean: float, counts: list[int]) -> str:
    low, high = lines.ends[index]
    interval = "" if math.isnan(low) else f", 95 % t interval {points(low)} to {points(high)}"
    of = f"{interval}, n = {counts[index]}" if counts else ""
    return f"{name}, {shots_text(lines.shots[index])}: {points(mean)}{of}"


def _interval(scores: np.ndarray | None) -> tuple[float, float]:
    """Return the 95% t interval for the mean over annotators, or NaN if it has none."""
    if scores is None or np.isnan(scores).any():
        return math.nan, math.nan
    interval = t_interval_of_scores(scores, -1 if scores.min() < 0 else 0)
    return 100 * interval.low, 100 * interval.high


def _joined(places: Iterable[tuple[float, float]]) -> str:
    return " ".join(f"{x},{y}" for x, y in places)
