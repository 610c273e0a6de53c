"""Pure functions that turn a data frame into a Vega-Lite specification, using charts.json.

That file has the layers of each figure. A string such as "$names" refers to a value of the study,
which is computed here, or to another part of the file.

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
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from analysis.heavy import pd
from analysis.stats.two_way import BOTH

Spec = dict[str, Any]
FOLDER = Path(__file__).parent
TEMPLATES: dict[str, Spec] = json.loads((FOLDER / "charts.json").read_text("utf-8"))
# The part of a specification that all figures share.
CONFIG: Spec = json.loads((FOLDER / "config.json").read_text("utf-8"))
SCHEMA = "https://vega.github.io/schema/vega-lite/v6.4.1.json"
INK, SOFT = CONFIG["mark"]["color"], CONFIG["style"]["annotator"]["color"]
COLOURS = CONFIG["range"]["category"]
COLUMNS = 3  # maximum number of panels per row in print
# For names at the ends of lines: width of a letter (pixels), height of a line as a fraction of the
# narrowest panel in print, and that panel's width, which is larger if there are at most two panels.
LETTER, HEIGHT, NARROW, WIDE = 6, 0.13, 106, 260


def marked(spec: Spec, mark: str) -> Spec:
    title = {"anchor": "start", "color": INK, "fontSize": 11, "fontWeight": "normal"}
    return spec | {"title": textwrap.wrap(mark, 44), "config": spec["config"] | {"title": title}}


def shot_curve(frame: pd.DataFrame) -> Spec:
    """Draw the mean score by shot count, with 95% intervals over annotators and examples.

    Data: task, metric (from its card), shots, what (mean or annotator), annotator, score, low and
    high (means only; empty if there is only one annotator), n (annotators), baseline (the task's
    trivial baseline). Scores are test-set scores x 100. Source: CLUES (2021), Table 4, drawn as a
    curve.
    """
    values = _shots_and_scores(frame, 18) | {"low_title": f"95 % from ({BOTH})"}
    return _panels("shot_curve", frame, values, with_metric=True)


def humans_and_models(frame: pd.DataFrame) -> Spec:
    """Draw mean scores by shots for humans and models, with one line per annotator group or model.

    Data: task, metric, shots, who, source (study, uploaded or published), score, low, high (empty
    without an interval), n. Scores are multiplied by 100. A study's own annotators have thick
    coloured lines and all others have thin grey ones; published figures have open marks. Names are
    at the ends of lines, or in a legend if they would overlap. Source: CLUES (2021), figure 1, with
    intervals added.
    """
    names = list(dict.fromkeys(frame["who"]))
    frame, share = _with_names_at_ends(frame)
    groups = frame.loc[frame["source"] == "study", "who"].nunique()
    colours = [INK] if groups == 1 else list(COLOURS[:groups])
    colours += [SOFT] * (len(names) - groups)
    values = _shots_and_scores(frame, 12, share) | _looks(names) | {"colours": colours}
    values["legend"] = None if share else {"title": None}
    spec = _panels("humans_and_models", frame, values, with_metric=True)
    if not share:
        layers = spec["spec"]["layer"]
        layers[:] = [layer for layer in layers if layer["mark"]["type"] != "text"]
    return spec


def calibration_curve(frame: pd.DataFrame) -> Spec:
    """Draw S1 by stated confidence for people and models, with 95% intervals.

    Data: task, who, chance (the stated probability of being correct), s1, low, high (empty without
    an interval), answers. Everything except the answer count is multiplied by 100. Perfectly
    calibrated annotators would lie on the dashed diagonal.
    """
    names = list(dict.fromkeys(frame["who"]))
    dodged = f"datum.chance + 2 * indexof({json.dumps(names)}, datum.who) - {len(names) - 1}"
    return _panels("calibration_curve", frame, _looks(names) | {"dodged": dodged})


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


def gains(frame: pd.DataFrame) -> Spec:
    """Draw relative gains in percent as bars, by task and learner, with 95% intervals.

    Data: contrast (between arms), who (learner), task (the last one may be all tasks: the ARG),
    metric, gain, low and high (annotators only). Source: CrossFit (2021), Figures 4 and 5.
    """
    names, tasks = (list(dict.fromkeys(frame[name])) for name in ("who", "task"))
    contrasts = {"field": "contrast", "type": "nominal", "title": None}
    return _facets("gains", frame, _looks(names) | {"tasks": tasks}, contrasts, 1)


def model_sizes(frame: pd.DataFrame) -> Spec:
    """Draw the SD over training splits by model size, with a line through each shot count's means.

    Data: task, model, metric, parameters, shots (text), sd (ddof 1, x 100). Source: CLUES (2021),
    Figure 4.
    """
    return _panels("model_sizes", frame, _looks(list(dict.fromkeys(frame["shots"]))))


def learning_curve(frame: pd.DataFrame, shots: Sequence[int]) -> Spec:
    """Draw mean S1 over blocks of the training step, with individual annotators as thin lines.

    Data: task, shots, what (mean or annotator), annotator, block (0-based), first and last (numbers
    of its examples, 1-based), middle (of these), s1, n (annotators in a mean, or an annotator's
    examples), low and high (means only: the t interval over annotators). S1 is multiplied by 100.
    `shots` lists all shot counts of the study, so that groups look the same in every figure.
    Source: CLUES (2021), appendix A.3 (means over whole sets).
    """
    return _panels("learning_curve", frame, _looks(shots) | {"seen": _shots(frame)})


def drift_curve(frame: pd.DataFrame, shots: Sequence[int]) -> Spec:
    """Draw mean S1 over tenths of the annotation step, with individual annotators as thin lines.

    Data: task, shots, what (mean or annotator), annotator, part (1-based), s1, n (annotators in a
    mean, or an annotator's examples), low and high (means only). S1 is multiplied by 100.
    """
    return _panels("drift_curve", frame, _looks(shots) | {"seen": _shots(frame)})


def _layers(figure: str, values: Spec) -> list[Spec]:
    """Return the layers in charts.json with these values."""
    parts = TEMPLATES["shared"] | TEMPLATES[figure]

    def filled(part: Any) -> Any:
        if isinstance(part, str) and part.startswith("$"):
            name = part[1:]
            # A value is inserted as it is, because the name of a task or model may start with "$".
            return values[name] if name in values else filled(parts[name])
        if isinstance(part, dict):
            return {key: filled(value) for key, value in part.items()}
        return [filled(value) for value in part] if isinstance(part, list) else part

    return filled(parts["layer"])


def _looks(names: Sequence[Any]) -> Spec:
    """Return the names of groups, and the dash pattern, shape and opacity of each."""
    return {"names": list(names)} | {
        key: [looks[index % len(looks)] for index in range(len(names))]
        for key, looks in TEMPLATES["looks"].items()
    }


def _shots(frame: pd.DataFrame) -> list[int]:
    return sorted(int(number) for number in frame["shots"].unique())


def _shots_and_scores(frame: pd.DataFrame, padding: int, share: float = 0) -> Spec:
    """Return values for the axes. The fraction `share` of the width is left empty on the right."""
    shots = _shots(frame)
    scale: Spec = {"zero": False, "nice": False, "padding": padding}
    if share:
        scale["domainMax"] = shots[-1] + (shots[-1] - shots[0] or 1) * share / (1 - share)
    metrics = set(frame["metric"])
    title = f"{metrics.pop() if len(metrics) == 1 else 'Score'} x 100"
    return {"shots": shots, "shot_scale": scale, "score_title": title}


def columns_of(panels: int, most: int) -> int:
    """Return the number of panels per row that fills as few rows as possible evenly."""
    return math.ceil(panels / math.ceil(panels / most)) if panels else 1


def _panels(figure: str, frame: pd.DataFrame, values: Spec, with_metric: bool = False) -> Spec:
    """Draw one panel per task in the order of its categories, with the same axes in all panels.

    With `with_metric`, each panel names its metric if there are several.
    """
    names = list(pd.Categorical(frame["task"]).categories)
    tasks: Spec = {"field": "task", "type": "nominal", "title": None, "sort": names}
    if with_metric and frame["metric"].nunique() > 1:
        metrics = dict(zip(frame["task"], frame["metric"], strict=True))
        titles = {name: f"{name} ({metrics[name]})" for name in names}
        tasks["header"] = {"title": None, "labelExpr": f"({json.dumps(titles)})[datum.label]"}
    spec = _facets(figure, frame, values, tasks, columns_of(len(names), COLUMNS))
    return spec | {"spacing": 24, "resolve": {"axis": {"x": "independent"}}}


def _facets(figure: str, frame: pd.DataFrame, values: Spec, facet: Spec, columns: int) -> Spec:
    rows = frame.astype(object).where(frame.notna(), None)  # JSON has no NaN
    return {
        "$schema": SCHEMA, "config": CONFIG,
        "data": {"name": "rows"}, "datasets": {"rows": rows.to_dict("records")},
        "facet": facet, "columns": columns,
        "spec": {"layer": _layers(figure, values), "width": 220, "height": 180},
    }  # fmt: skip
