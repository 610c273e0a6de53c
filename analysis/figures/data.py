"""The figures of a study: each with its data, its numbers and its caption.

Charts are drawn in figures/charts.py and numbers computed in stats/learning.py, from frames alone;
this module applies them to a study. A figure that would mislead is replaced by the reason
(`why_not`).
"""

import importlib.util
import json
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import altair as alt
import pandas as pd
from django.core.cache import cache

from analysis.figures import charts
from analysis.stats import learning
from analysis.stats.uncertainty import t_interval_of_scores, why_no_interval
from analysis.tables import frames, performance
from analysis.tables.columns import Column, between
from analysis.tables.findings import Row, state
from analysis.values import number
from annotation.models import Kind, Step, Study
from tasks.csv_files import csv_text

NEEDS_VL_CONVERT = "SVG, PNG and PDF need vl-convert on the server: pip install vl-convert-python\n"
REMEMBERED = 3600  # seconds
PICTURES = {"svg": "image/svg+xml", "png": "image/png", "pdf": "application/pdf"}


@dataclass(frozen=True)
class Figure:
    """A figure of the page; without rows, `why_not` says what is missing and what to do."""

    name: str
    title: str
    caption: str
    description: str  # for readers who cannot see it
    why_not: str
    frame: pd.DataFrame
    make: Callable[[], alt.FacetChart]
    numbers: Sequence[Row]
    columns: Sequence[Column]

    @cached_property
    def spec(self) -> dict[str, Any]:
        """The Vega-Lite specification, data included."""
        return self.make().to_dict()

    @property
    def json(self) -> str:
        return json.dumps(self.spec, allow_nan=False)

    @property
    def cells(self) -> list[list[str]]:
        """The numbers as text, row by row."""
        return [[column.text(row) for column in self.columns] for row in self.numbers]


def can_draw() -> bool:
    """Whether vl-convert is installed, which makes pictures of specifications."""
    return importlib.util.find_spec("vl_convert") is not None


def picture(figure: Figure, ext: str) -> bytes:
    """The figure as a file of PICTURES. Raises ImportError where vl-convert is not installed."""
    import vl_convert

    # Nothing in a specification of ours has an address; none could be fetched either.
    offline: dict[str, Any] = {"allowed_base_urls": []}
    if ext == "png":
        return vl_convert.vegalite_to_png(figure.json, scale=3, **offline)
    if ext == "pdf":
        return vl_convert.vegalite_to_pdf(figure.json, **offline)
    return vl_convert.vegalite_to_svg(figure.json, **offline).encode()


# The data behind them -----------------------------------------------------------------------------


@dataclass(frozen=True)
class Data:
    """The frames and numbers of one study and kind; each frame is the CSV behind its figure."""

    frames: dict[str, pd.DataFrame]
    numbers: dict[str, list[Row]]


def data(study: Study, kind: str) -> Data:
    """All frames and numbers, cached until somebody completes, withdraws, is excluded or included.

    The cache expires after an hour, as cached values cannot be looked up for erasure.
    """
    key = f"figures:{state(study, kind)}"
    found = cache.get(key)
    if found is None:
        found = _data(study, kind)
        cache.set(key, found, timeout=REMEMBERED)
    return found


def _data(study: Study, kind: str) -> Data:
    answers = frames.answers_in_order(study, kind)
    training = answers[answers["step"] == Step.TRAINING]
    annotation = answers[answers["step"] == Step.ANNOTATION]
    baselines = {task.name: performance.bounds(task).baseline for task in study.tasks.all()}
    shots, shot_rows = _shot_curve(annotation, baselines)
    blocks = learning.by_block(training)
    means = learning.group_means(blocks, ["block", "first", "last"])
    curve = _with_means(blocks, means)
    curve["middle"] = (curve["first"] + curve["last"]) / 2
    parts = learning.by_part(annotation)
    times = learning.times(answers)
    times.insert(5, "minutes", times["training_minutes"] + times["annotation_minutes"])
    return Data(
        {
            "shots": shots,
            "learning": curve,
            "drift": _with_means(parts, learning.group_means(parts, ["part"])),
            "speed": learning.speed(annotation),
            "time": times,
        },
        {
            "shots": shot_rows,
            "learning": learning.learning_rows(training, study.seed),
            "drift": learning.drift_rows(annotation),
            "speed": learning.speed_rows(annotation),
            "time": [dict(row) for row in times.to_dict("records")],
        },
    )


def _with_means(people: pd.DataFrame, means: pd.DataFrame) -> pd.DataFrame:
    """Annotators, then the means over them, distinguished by the column `what`."""
    both = pd.concat([people.assign(what="annotator"), means.assign(what="mean")])
    names = ["task", "shots", "what"]
    return both[[*names, *(name for name in both.columns if name not in names)]]


def _shot_curve(
    annotation: pd.DataFrame, baselines: dict[str, float]
) -> tuple[pd.DataFrame, list[Row]]:
    people = annotation.groupby(["task", "shots", "annotator"])["s1"].mean().reset_index()
    means = []
    for (task, shots), part in people.groupby(["task", "shots"]):
        t = t_interval_of_scores(list(part["s1"]))
        means.append(
            {"task": task, "shots": int(shots), "s1": 100 * float(part["s1"].mean()),
             "low": 100 * t.low, "high": 100 * t.high, "n": len(part), "baseline": baselines[task],
             "no_interval_over_people": why_no_interval(list(part["s1"]))}
        )  # fmt: skip
    people["s1"] *= 100
    columns = [
        "task", "shots", "what", "annotator", "s1", "low", "high", "n", "baseline",
        "no_interval_over_people",
    ]  # fmt: skip
    frame = pd.concat(
        [
            people.assign(what="annotator", baseline=people["task"].map(baselines)),
            pd.DataFrame(means).assign(what="mean"),
        ]
    )
    return frame.reindex(columns=columns), means


def as_csv(kind: str, frame: pd.DataFrame) -> str:
    """The rows behind a figure, with all digits; empty cells for missing values."""
    rows = ([kind, *map(_cell, row)] for row in frame.itertuples(index=False))
    return csv_text(["kind", *frame.columns], rows)


def _cell(value: Any) -> Any:
    if isinstance(value, float):
        # Counts have become floats where some rows have none.
        return str(int(value)) if value.is_integer() else number(value)
    return "" if pd.isna(value) else value


# Captions -----------------------------------------------------------------------------------------


def _points(key: str) -> Callable[[Row], str]:
    return lambda row: "–" if math.isnan(row[key]) else f"{row[key]:.1f}"


def _signed(key: str) -> Callable[[Row], str]:
    return lambda row: "–" if math.isnan(row[key]) else f"{row[key]:+.1f}"


def _between(low: str, high: str) -> Callable[[Row], str]:
    return lambda row: "–" if math.isnan(row[low]) else f"{row[low]:+.1f} to {row[high]:+.1f}"


def _seconds(key: str) -> Callable[[Row], str]:
    def text(row: Row) -> str:
        found = row[key]
        if math.isnan(found):
            return "–"
        return f"{found:.1f}" if found >= 10 else f"{found:.2f}" if found >= 0.1 else f"{found:.1g}"

    return text


def _two_digits(key: str) -> Callable[[Row], str]:
    return lambda row: "–" if math.isnan(row[key]) else f"{row[key]:.2f}"


def _p(key: str) -> Callable[[Row], str]:
    return lambda row: "–" if math.isnan(row[key]) else f"{row[key]:.3f}"


_GROUP = [
    Column("Task", "", lambda row: row["task"]),
    Column("Shots", "", lambda row: str(row["shots"])),
]
_WHO = [
    *_GROUP,
    Column(
        "n", "number of annotators who completed and are in the analysis", lambda row: str(row["n"])
    ),
]
_COLUMNS: dict[str, list[Column]] = {
    "shots": [
        *_WHO,
        Column("Mean", "mean over annotators of their mean S1, x 100", _points("s1")),
        Column(
            "95 %",
            "t interval over annotators, truncated at 0 and 100",
            between("low", "high"),
        ),
        Column("Baseline", "S1 x 100 of the trivial baseline", _points("baseline")),
    ],
    "learning": [
        *_WHO,
        Column(
            "Examples", "number of examples in the training step", lambda row: str(row["examples"])
        ),
        Column("First block", "mean S1 x 100 on the first block", _points("first_block")),
        Column("Last block", "mean S1 x 100 on the last block", _points("last_block")),
        Column(
            "Per 10 examples",
            "slope of a linear fit of each annotator's S1 on position, averaged over annotators,"
            " in points per ten examples",
            _signed("slope_per_10"),
        ),
        Column(
            "p",
            f"two-sided permutation test of the slope: {learning.RESAMPLES:,} shuffles of the"
            " positions within each annotator, seeded with the study's seed; not corrected for"
            " multiple testing",
            _p("p"),
        ),
    ],
    "drift": [
        *_WHO,
        Column(
            "Examples",
            "number of examples in the annotation step",
            lambda row: str(row["examples"]),
        ),
        Column(
            "Half 2 − half 1",
            "mean S1 in the second half minus mean S1 in the first half, averaged over annotators,"
            " in points; negative values are a decline",
            _signed("half"),
        ),
        Column("95 %", "t interval over annotators", _between("half_low", "half_high")),
        Column(
            "Per 100 examples",
            "slope of a linear fit of each annotator's S1 on position, averaged over annotators,"
            " in points per hundred examples",
            _signed("per_100"),
        ),
        Column("95 %", "t interval over annotators", _between("per_100_low", "per_100_high")),
    ],
    "speed": [
        *_WHO,
        Column(
            "Seconds",
            "median over annotators of their median seconds for an answer",
            _seconds("seconds"),
        ),
        Column("First half", "the same in the first half of the step", _seconds("first_half")),
        Column("Second half", "the same in the second half of the step", _seconds("second_half")),
        Column(
            "Log median",
            "mean over annotators of the natural logarithm of their median seconds",
            _two_digits("log_median"),
        ),
        Column("SD of log median", "SD over annotators (ddof 1)", _two_digits("log_median_sd")),
    ],
    "time": [
        Column("Annotator", "pseudonym", lambda row: row["annotator"]),
        *_GROUP,
        Column(
            "Training", "active minutes on the examples of this step", _points("training_minutes")
        ),
        Column(
            "Annotation",
            "active minutes on the examples of this step",
            _points("annotation_minutes"),
        ),
        Column(
            "Seconds", "median seconds for an answer in the annotation step", _seconds("seconds")
        ),
        Column(
            "SDs from mean",
            "log seconds as a z-score among all annotators of the task (ddof 1). Prolific regards 3"
            " SDs below the mean as too fast; that is only reachable with 11 or more annotators",
            _two_digits("standing"),
        ),
    ],
}


def page_figures(study: Study, kind: str) -> list[Figure]:
    """The figures in the order of the page."""
    return [figure(study, kind, name) for name in _COLUMNS]


NAMES = tuple(_COLUMNS)


def figure(study: Study, kind: str, name: str) -> Figure:
    """The figure of that name, one of NAMES."""
    found = data(study, kind)
    frame = found.frames[name]
    shots = sorted(study.shots)
    who = "people" if kind == Kind.PERSON else f"{kind} annotators (not people)"
    fixed = Study.Order.FILE_ORDER
    texts: dict[str, tuple[str, str, Callable[[], alt.FacetChart]]] = {
        "shots": (
            "Shot curve",
            "Mean S1 x 100 on the test examples by number of shots (filled dots) with its 95 % t"
            " interval over annotators (bars; undefined for one annotator or if all scores are"
            " equal), individual annotators (hollow dots) and the trivial baseline (dashed).",
            lambda: charts.shot_curve(frame),
        ),
        "learning": (
            "Learning curve over the training step",
            f"Mean S1 x 100 in blocks of {learning.BLOCK} training examples, in the order in which"
            " each annotator saw them; thin lines are individual annotators."
            + (
                " All annotators saw them in file order, so a slope may reflect the difficulty of"
                " the"
                " examples."
                if study.training_order == fixed
                else " The order was randomised for each annotator."
            ),
            lambda: charts.learning_curve(frame, shots),
        ),
        "drift": (
            "Drift over the annotation step",
            "Mean S1 x 100 in each tenth of the annotation step; thin lines are individual"
            " annotators. The order was randomised for each annotator, so the difficulty of"
            " examples"
            " does not depend on position.",
            lambda: charts.drift_curve(frame, shots),
        ),
        "speed": (
            "Speed over the annotation step",
            "Median active seconds per example in each twentieth of the annotation step, over all"
            " answers of the group. Idle time is excluded, as it is for pay.",
            lambda: charts.speed_curve(frame, shots),
        ),
        "time": (
            "Time of each annotator",
            "Active minutes of each annotator on the examples of both steps (dots) and their median"
            " (ticks). Idle time is excluded, as it is for pay; time spent reading reveals is not"
            " counted.",
            lambda: charts.time_dots(frame),
        ),
    }
    title, caption, make = texts[name]
    why_not = ""
    if name == "learning" and not any(shots):
        why_not = "This study has zero-shot scenarios only, so there is no training step."
    elif name == "drift" and study.annotation_order == fixed:
        why_not = (
            "All annotators saw the test examples in file order, so a change of S1 over the step"
            " would"
            " reflect the difficulty of the examples. For a drift curve, design a study with a"
            " shuffled annotation order."
        )
    elif frame.empty:
        why_not = "No annotator has completed the study yet."
    shown = "" if why_not else caption
    return Figure(
        name=name,
        title=title,
        caption=shown,
        description=f"{title} of {who}. {shown}",
        why_not=why_not,
        frame=frame,
        make=make,
        numbers=[] if why_not else found.numbers[name],
        columns=_COLUMNS[name],
    )
