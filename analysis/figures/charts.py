"""Pure functions that turn a data frame into an Altair chart.

Groups differ in shape and dash pattern as well as colour, so that black-and-white prints are
readable. Colours are those in config.json. static/js/figure.js replaces them with those of the page
(light or dark). Each function expects one row per mark, as in the figure's CSV. All scores are
multiplied by 100. Studies with several tasks get one panel per task. The shot curve shows
whole-test-set scores under the metric on each task's card, which is named on the axis or, if there
are several metrics, on each panel. Learning and drift curves show individual answers, scored by S1.
"""

from __future__ import annotations

import json
import math
import textwrap
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from analysis.heavy import alt, pd
from analysis.stats.two_way import BOTH

# The part of a specification that all figures share.
CONFIG: dict[str, Any] = json.loads(Path(__file__).with_name("config.json").read_text("utf-8"))
INK, SOFT = CONFIG["mark"]["color"], CONFIG["style"]["annotator"]["color"]
COLOURS = CONFIG["range"]["category"]
SHAPES = ["circle", "square", "triangle-up", "diamond", "cross", "triangle-down"]
FILLS = [1, 0.5, 0.1, 0.75, 0.3, 0]  # opacity of bars
DASHES = [[1, 0], [6, 3], [2, 2], [8, 3, 2, 3], [12, 4], [3, 6]]
COLUMNS = 3  # maximum number of panels per row in print
# For names at the ends of lines: width of a letter (pixels), height of a line as a fraction of the
# narrowest panel in print, and that panel's width, which is larger if there are at most two panels.
LETTER, HEIGHT, NARROW, WIDE = 6, 0.13, 106, 260
# Tooltip fields to be shown with one decimal place.
SCORES = ("score:Q", "low:Q", "high:Q", "s1:Q", "gain:Q", "sd:Q")


def marked(spec: dict[str, Any], mark: str) -> dict[str, Any]:
    title = {"anchor": "start", "color": INK, "fontSize": 11, "fontWeight": "normal"}
    return spec | {"title": textwrap.wrap(mark, 44), "config": spec["config"] | {"title": title}}


def shot_curve(frame: pd.DataFrame) -> alt.FacetChart:
    """Draw the mean score by shot count, with 95% intervals over annotators and examples.

    Data: task, metric (from its card), shots, what (mean or annotator), annotator, score, low and
    high (means only; empty if there is only one annotator), n (annotators), baseline (the task's
    trivial baseline). Scores are test-set scores x 100. Source: CLUES (2021), Table 4, drawn as a
    curve.
    """
    base = alt.Chart(frame)
    x, y, with_metric = _shot_axes(frame, 18)
    baseline = base.mark_rule(style="baseline", strokeDash=[5, 4], strokeWidth=1.5)
    annotators = base.transform_filter(alt.datum.what == "annotator").mark_point(
        style="annotator", filled=False, size=22, strokeWidth=1.2, xOffset=9
    )
    layers = [
        baseline.encode(y=alt.Y("mean(baseline):Q")),
        annotators.encode(x=x, y=y, tooltip=_tips(ANNOTATOR_TOOLTIP)),
        *_means_with_bars(base.transform_filter(alt.datum.what == "mean"), x, y),
    ]
    return _panels(_layered(*layers, data=frame), with_metric=with_metric)


def humans_and_models(frame: pd.DataFrame) -> alt.FacetChart:
    """Draw mean scores by shots for humans and models, with one line per annotator group or model.

    Data: task, metric, shots, who, source (study, uploaded or published), score, low, high (empty
    without an interval), n. Scores are multiplied by 100. A study's own annotators have thick
    coloured lines and all others have thin grey ones; published figures have open marks. Names are
    at the ends of lines, or in a legend if they would overlap. Source: CLUES (2021), figure 1, with
    intervals added.
    """
    names = list(dict.fromkeys(frame["who"]))
    frame, share = _with_names_at_ends(frame)
    base = alt.Chart(frame)
    x, y, with_metric = _shot_axes(frame, 12, share)
    legend = None if share else alt.Legend(title=None)
    groups = frame.loc[frame["source"] == "study", "who"].nunique()
    colours = [INK] if groups == 1 else list(COLOURS[:groups])
    colours += [SOFT] * (len(names) - groups)
    colour, dash, shape = _series(names, alt.Scale(domain=names, range=colours), legend)
    bars = base.transform_filter("isValid(datum.low)")
    bars = bars.mark_rule(strokeWidth=1.5).encode(x=x, y=alt.Y("low:Q"), y2="high:Q", color=colour)
    points = {"x": x, "y": y, "color": colour, "shape": shape, "tooltip": _tips(SERIES_TOOLTIP)}
    people = base.transform_filter(alt.datum.source == "study")
    others = base.transform_filter(alt.datum.source != "study")
    ours = base.transform_filter(alt.datum.source != "published")
    quoted = base.transform_filter(alt.datum.source == "published")
    lines = {"x": x, "y": y, "color": colour, "strokeDash": dash}
    ends = base.transform_filter("isValid(datum.end)").mark_text(align="left", dx=8)
    return _panels(
        _layered(
            others.mark_line(strokeWidth=1).encode(**lines),
            people.mark_line(strokeWidth=2).encode(**lines),
            bars,
            *([ends.encode(x=x, y=y, text="end:N", color=colour)] if share else []),
            ours.mark_point(filled=True, size=50, opacity=1).encode(**points),
            quoted.mark_point(filled=False, size=45, strokeWidth=1.5).encode(**points),
            data=frame,
        ),
        with_metric=with_metric,
    )


def calibration_curve(frame: pd.DataFrame) -> alt.FacetChart:
    """Draw S1 by stated confidence for people and models, with 95% intervals.

    Data: task, who, chance (the stated probability of being correct), s1, low, high (empty without
    an interval), answers. Everything except the answer count is multiplied by 100. Perfectly
    calibrated annotators would lie on the dashed diagonal.
    """
    names = list(dict.fromkeys(frame["who"]))
    dodged = f"datum.chance + 2 * indexof({json.dumps(names)}, datum.who) - {len(names) - 1}"
    base = alt.Chart(frame).transform_calculate(dodged=dodged)
    scale = alt.Scale(domain=[0, 100], padding=10)
    axis = alt.Axis(values=[0, 25, 50, 75, 100], grid=False)
    x = alt.X("dodged:Q", title="Stated confidence, %", axis=axis, scale=scale)
    y = alt.Y("s1:Q", title="S1 x 100", scale=scale)
    colour, dash, shape = _series(names, alt.Scale(domain=names), alt.Legend(title=None))
    bars = base.transform_filter("isValid(datum.low)").mark_rule(strokeWidth=1.5)
    tips = {"who:N": "Respondents", "chance:Q": "Confidence, %", "s1:Q": "S1 x 100",
            "low:Q": "95 % from", "high:Q": "to", "answers:Q": "Answers"}  # fmt: skip
    points = base.mark_point(filled=True, size=50, opacity=1)
    return _panels(
        _layered(
            base.mark_line(style="baseline", strokeDash=[5, 4]).encode(x="chance:Q", y="chance:Q"),
            base.mark_line(strokeWidth=1.5).encode(x=x, y=y, color=colour, strokeDash=dash),
            bars.encode(x=x, y=alt.Y("low:Q"), y2="high:Q", color=colour),
            points.encode(x=x, y=y, color=colour, shape=shape, tooltip=_tips(tips)),
            data=frame,
        )
    )


def _with_names_at_ends(frame: pd.DataFrame) -> tuple[pd.DataFrame, float]:
    """Add a column `end` that holds each name at its last point, in the first panel that has one.

    Also return the fraction of a panel's width taken up by these names. If they are too long or too
    close to each other, no names are added and the fraction is 0.
    """
    if frame.empty:
        return frame, 0
    last = frame.sort_values("shots", kind="stable").groupby(["task", "who"], sort=False).tail(1)
    last = last.sort_values("task", kind="stable")
    last = last.groupby("who", sort=False).head(1)
    share = (LETTER * max(map(len, last["who"])) + 8) / (
        WIDE if frame["task"].nunique() <= 2 else NARROW
    )
    values = frame[["score", "low", "high"]].astype(float)
    gap = HEIGHT * (values.max().max() - values.min().min())
    ends = last.groupby("task")["score"]
    is_close = any((scores.sort_values().diff() < gap).any() for _task, scores in ends)
    if share > 0.45 or is_close:
        return frame.assign(end=None), 0
    return frame.assign(end=last["who"]), share


def gains(frame: pd.DataFrame) -> alt.FacetChart:
    """Draw relative gains in percent as bars, by task and learner, with 95% intervals.

    Data: contrast (between arms), who (learner), task (the last one may be all tasks: the ARG),
    metric, gain, low and high (annotators only). Source: CrossFit (2021), Figures 4 and 5.
    """
    names, tasks = (list(dict.fromkeys(frame[name])) for name in ("who", "task"))
    scale, legend = alt.Scale(domain=names), alt.Legend(title=None)
    axis = alt.Axis(labelAngle=-45, labelLimit=130, grid=False)
    x = alt.X("task:N", title=None, sort=tasks, axis=axis)
    base = alt.Chart(frame).encode(x=x, xOffset=alt.XOffset("who:N", scale=scale))
    bars = base.mark_bar(strokeWidth=1).encode(
        y=alt.Y("gain:Q", title="Relative gain, %"),
        color=alt.Color("who:N", scale=scale, legend=legend),
        stroke=alt.Stroke("who:N", scale=scale, legend=legend),
        fillOpacity=alt.FillOpacity("who:N", scale=_scale(names, FILLS), legend=legend),
        tooltip=_tips({"who:N": "Respondents", "task:N": "Task", "gain:Q": "Relative gain, %"}),
    )
    rules = base.transform_filter("isValid(datum.low)").mark_rule(strokeWidth=1.5)
    ends = rules.encode(y=alt.Y("low:Q"), y2="high:Q")
    header = alt.Facet("contrast:N", title=None)
    return _layered(bars, ends, data=frame).facet(header, columns=1, config=CONFIG)


def model_sizes(frame: pd.DataFrame) -> alt.FacetChart:
    """Draw the SD over training splits by model size, with a line through each shot count's means.

    Data: task, model, metric, parameters, shots (text), sd (ddof 1, x 100). Source: CLUES (2021),
    Figure 4.
    """
    names = list(dict.fromkeys(frame["shots"]))
    legend = alt.Legend(title="Shots")
    colour = alt.Color("shots:N", scale=alt.Scale(domain=names), legend=legend)
    axis = alt.Axis(format="~s", grid=False)
    scale = alt.Scale(type="log", nice=False, padding=12)
    base = alt.Chart(frame).encode(
        x=alt.X("parameters:Q", title="Parameters", axis=axis, scale=scale), color=colour
    )
    dash = alt.StrokeDash("shots:N", scale=_scale(names, DASHES), legend=legend)
    line = base.mark_line(strokeWidth=1.5).encode(y=alt.Y("mean(sd):Q"), strokeDash=dash)
    titles = {"model:N": "Model", "parameters:Q": "Parameters", "shots:N": "Shots", "sd:Q": "SD"}
    points = base.mark_point(filled=True, size=50, opacity=1).encode(
        y=alt.Y("sd:Q", title="SD over training splits, points"),
        shape=alt.Shape("shots:N", scale=_scale(names, SHAPES), legend=legend),
        tooltip=_tips(titles),
    )
    return _panels(_layered(line, points, data=frame))


# Maps the fields of tooltips to their titles.
ANNOTATOR_TOOLTIP = {"annotator:N": "Annotator", "metric:N": "Metric", "score:Q": "Score x 100"}
SERIES_TOOLTIP = {
    "who:N": "Respondents", "task:N": "Task", "shots:Q": "Shots", "score:Q": "Mean score x 100",
    "low:Q": "95 % from", "high:Q": "to", "n:Q": "n",
}  # fmt: skip
MEAN_TOOLTIP = {
    "task:N": "Task", "shots:Q": "Shots", "metric:N": "Metric", "score:Q": "Mean score x 100",
    "low:Q": f"95 % from ({BOTH})", "high:Q": "to", "n:Q": "Annotators",
}  # fmt: skip


def _tips(titles: Mapping[str, str]) -> list[alt.Tooltip]:
    return [
        alt.Tooltip(field, title=title, format=".1f" if field in SCORES else alt.Undefined)
        for field, title in titles.items()
    ]


def _means_with_bars(means: alt.Chart, x: alt.X, y: alt.Y) -> list[alt.Chart]:
    bounded = means.transform_filter("isValid(datum.low)")
    tooltip = _tips(MEAN_TOOLTIP)
    bars = bounded.mark_rule(strokeWidth=1.5)
    end = bounded.mark_tick(orient="horizontal", size=9, thickness=2)
    dots = means.mark_point(filled=True, size=70, shape="circle", opacity=1)
    return [
        means.mark_line(strokeWidth=1.5).encode(x=x, y=y),
        bars.encode(x=x, y=alt.Y("low:Q"), y2="high:Q", tooltip=tooltip),
        end.encode(x=x, y=alt.Y("low:Q")),
        end.encode(x=x, y=alt.Y("high:Q")),
        dots.encode(x=x, y=y, tooltip=tooltip),
    ]


def learning_curve(frame: pd.DataFrame, shots: Sequence[int]) -> alt.FacetChart:
    """Draw mean S1 over blocks of the training step, with individual annotators as thin lines.

    Data: task, shots, what (mean or annotator), annotator, block (0-based), first and last (numbers
    of its examples, 1-based), middle (of these), s1, n (annotators in a mean, or an annotator's
    examples), low and high (means only: the t interval over annotators). S1 is multiplied by 100.
    `shots` lists all shot counts of the study, so that groups look the same in every figure.
    Source: CLUES (2021), appendix A.3 (means over whole sets).
    """
    x = _step_axis("middle:Q", "Training example (mean of each block)")
    names = {"first:Q": "Examples from", "last:Q": "to"}
    return _panels(_lines(frame, x, _score_axis(), shots, names))


def drift_curve(frame: pd.DataFrame, shots: Sequence[int]) -> alt.FacetChart:
    """Draw mean S1 over tenths of the annotation step, with individual annotators as thin lines.

    Data: task, shots, what (mean or annotator), annotator, part (1-based), s1, n (annotators in a
    mean, or an annotator's examples), low and high (means only). S1 is multiplied by 100.
    """
    x = _step_axis("part:Q", "Tenth of the annotation step", nice=False)
    return _panels(_lines(frame, x, _score_axis(), shots, {"part:Q": "Tenth"}))


def _shots(frame: pd.DataFrame) -> list[int]:
    return sorted(int(number) for number in frame["shots"].unique())


def _step_axis(field: str, title: str, **scale: Any) -> alt.X:
    """Return an axis for examples, in the order in which an annotator saw them."""
    axis = alt.Axis(format="d", tickMinStep=1, grid=False)
    return alt.X(field, title=title, axis=axis, scale=alt.Scale(zero=False, padding=10, **scale))


def _shot_axes(frame: pd.DataFrame, padding: int, share: float = 0) -> tuple[alt.X, alt.Y, bool]:
    """Return the axes for scores by shots, and whether each panel needs to name its metric.

    The fraction `share` of the width is left empty on the right.
    """
    shots = _shots(frame)
    axis = alt.Axis(values=shots, format="d", grid=False)
    end = shots[-1] + (shots[-1] - shots[0] or 1) * share / (1 - share) if share else alt.Undefined
    scale = alt.Scale(zero=False, nice=False, padding=padding, domainMax=end)
    metrics = sorted(set(frame["metric"]))
    name = metrics[0] if len(metrics) == 1 else "Score"
    x = alt.X("shots:Q", title="Shots", axis=axis, scale=scale)
    return x, _score_axis("score:Q", f"{name} x 100"), len(metrics) > 1


def _score_axis(field: str = "s1:Q", title: str = "S1 x 100 of single answers") -> alt.Y:
    return alt.Y(field, title=title, scale=alt.Scale(zero=False, nice=True))


def _lines(
    frame: pd.DataFrame, x: alt.X, y: alt.Y, shots: Sequence[int], names: Mapping[str, str]
) -> alt.LayerChart:
    base = alt.Chart(frame)
    legend = alt.Legend(title="Shots", values=_shots(frame))
    colour = alt.Color("shots:N", scale=alt.Scale(domain=list(shots)), legend=legend)
    # A line through a single point is invisible, whereas the mean always has a mark. The stroke is
    # transparent, because a transparent mark takes a layer of the whole picture for each annotator.
    annotators = (
        base.transform_filter(alt.datum.what == "annotator")
        .mark_line(strokeWidth=1, strokeOpacity=0.25)
        .encode(x=x, y=y, detail="annotator:N", color=colour)
    )
    means = base.transform_filter(alt.datum.what == "mean")
    dash = alt.StrokeDash("shots:N", scale=_scale(shots, DASHES), legend=legend)
    shape = alt.Shape("shots:N", scale=_scale(shots, SHAPES), legend=legend)
    interval = {"low:Q": "95 % from", "high:Q": "to"}
    titles = {"shots:N": "Shots", **names, "s1:Q": "Mean S1 x 100", **interval, "n:Q": "Annotators"}
    bounded = means.transform_filter("isValid(datum.low)")
    bars = bounded.mark_rule(strokeWidth=1.5)
    bars = bars.encode(x=x, y=alt.Y("low:Q"), y2="high:Q", color=colour)
    lines = means.mark_line(strokeWidth=2).encode(x=x, y=y, color=colour, strokeDash=dash)
    points = means.mark_point(filled=True, size=45, opacity=1)
    points = points.encode(x=x, y=y, color=colour, shape=shape, tooltip=_tips(titles))
    return _layered(annotators, bars, lines, points, data=frame)


def _series(
    names: Sequence[str], colours: alt.Scale, legend: alt.Legend | None
) -> tuple[alt.Color, alt.StrokeDash, alt.Shape]:
    return (
        alt.Color("who:N", scale=colours, legend=legend),
        alt.StrokeDash("who:N", scale=_scale(names, DASHES), legend=legend),
        alt.Shape("who:N", scale=_scale(names, SHAPES), legend=legend),
    )


def _scale(shots: Sequence[Any], values: list[Any]) -> alt.Scale:
    looks = [values[index % len(values)] for index in range(len(shots))]
    return alt.Scale(domain=list(shots), range=looks)


def _layered(*layers: alt.Chart, data: pd.DataFrame) -> alt.LayerChart:
    """Layer charts on one data frame. Layering facets would produce a different chart type."""
    chart = alt.layer(*layers, data=data, width=220, height=180)
    assert isinstance(chart, alt.LayerChart)
    return chart


def columns_of(panels: int, most: int) -> int:
    """Return the number of panels per row that fills as few rows as possible evenly."""
    return math.ceil(panels / math.ceil(panels / most)) if panels else 1


def _panels(chart: alt.LayerChart, with_metric: bool = False) -> alt.FacetChart:
    """Draw one panel per task in the order of its categories, with the same axes in all panels."""
    alt.data_transformers.disable_max_rows()  # figures include all rows of a study
    data: Any = chart.data
    names = list(pd.Categorical(data["task"]).categories)
    tasks = alt.Facet("task:N", title=None, sort=names)
    if with_metric:
        metrics = dict(zip(data["task"], data["metric"], strict=True))
        titles = {name: f"{name} ({metrics[name]})" for name in names}
        tasks = tasks.header(title=None, labelExpr=f"({json.dumps(titles)})[datum.label]")
    resolve = alt.Resolve(axis=alt.AxisResolveMap(x="independent"))
    columns = columns_of(len(names), COLUMNS)
    # Make a single call, because each chart method copies the whole chart.
    return chart.facet(tasks, columns=columns, spacing=24, config=CONFIG, resolve=resolve)
