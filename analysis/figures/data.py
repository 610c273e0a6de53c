"""A study's figures with their data, numbers and captions.

Charts are drawn in figures/charts.py, and numbers are computed in stats/learning.py; this module
applies both to a study. If a figure would be misleading, the reason (`why_not`) is shown instead.
"""

from __future__ import annotations

import importlib.util
import json
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from types import SimpleNamespace
from typing import Any

from django.db.models import Count, prefetch_related_objects

from analysis.cross_task import learners
from analysis.cross_task.cross_task import QUESTION
from analysis.figures import charts, humans_models, paper_widths
from analysis.figures.humans_models import FIGURE_COLUMNS, OVER_SPLITS
from analysis.heavy import pd
from analysis.scores import confidence, findings, marks, scores, test_sets
from analysis.scores.columns import assumption, in_results_order, number
from analysis.scores.findings import parameters, remembered
from analysis.scores.markup import rendered
from analysis.stats import learning
from analysis.stats.two_way import BOTH, PEOPLE
from annotation.models import Kind, Step, Study
from annotation.study import compared_files
from tasks import columns as table_columns
from tasks.columns import Column, hundredth
from tasks.csv_files import csv_text
from tasks.models import Task

# Columns multiplied by 100 in figures.
X_100 = ("chance", "s1", "score", "low", "high", "baseline", "gain", "sd")
NEEDS_VL_CONVERT = "SVG, PNG and PDF need vl-convert on the server: pip install vl-convert-python\n"
PICTURES = {"svg": "image/svg+xml", "png": "image/png", "pdf": "application/pdf"}


@dataclass(frozen=True)
class Data:
    frame: pd.DataFrame
    numbers: Sequence[Any]


@dataclass(frozen=True)
class Figure:
    """A figure, computed on first access. If it is empty, `why_not` says why and what to do."""

    name: str
    title: str
    caption: str
    description: str  # text alternative
    why_not: str
    load: Callable[[], Data]
    make: Callable[[pd.DataFrame], charts.Spec]
    all_columns: Sequence[Column]
    tasks: Iterable[Task]
    mark: str = ""  # drawn above the figure, so that copies contain it

    @cached_property
    def data(self) -> Data:
        return self.load()

    @property
    def frame(self) -> pd.DataFrame:
        return self.data.frame

    @property
    def numbers(self) -> Sequence[Any]:
        return [] if self.why_not else self.data.numbers

    @cached_property
    def spec(self) -> charts.Spec:
        """Return the Vega-Lite specification with its data, which tests validate."""
        places = {task.name: task.place for task in self.tasks}
        panels = sorted(set(self.frame["task"]), key=lambda name: places.get(name, (math.inf,)))
        frame = self.frame.assign(task=pd.Categorical(self.frame["task"], panels, ordered=True))
        spec = self.make(frame)
        return charts.marked(spec, self.mark) if self.mark else spec

    @property
    def json(self) -> str:
        return json.dumps(self.spec, allow_nan=False)

    @property
    def columns(self) -> list[Column]:
        return table_columns.on_page(self.all_columns)

    @property
    def cells(self) -> list[list[str]]:
        is_by_task = self.all_columns[0].name == "task"
        rows = in_results_order(self.tasks, self.numbers) if is_by_task else self.numbers
        return table_columns.cells(self.all_columns, rows)


def can_draw() -> bool:
    return importlib.util.find_spec("vl_convert") is not None


def picture(figure: Figure, ext: str, width: str = "") -> bytes:
    """Render one of PICTURES. `width` is a key of paper_widths.INCHES. Raises ImportError."""
    import vl_convert

    if width:
        return paper_widths.picture(figure.spec, ext, width)
    # Specifications contain no URLs, and this setting blocks access to any.
    offline: dict[str, Any] = {"allowed_base_urls": []}
    if ext == "png":
        return vl_convert.vegalite_to_png(figure.json, scale=3, **offline)
    if ext == "pdf":
        return vl_convert.vegalite_to_pdf(figure.json, **offline)
    return vl_convert.vegalite_to_svg(figure.json, **offline).encode()


def data(study: Study, kind: str, name: str) -> Data:
    """Return the data of a figure. The annotators' part is cached until it changes."""
    if name == "models":
        people = data(study, kind, "shots").numbers
        rows = humans_models.top_series(humans_models.rows(study, kind, people))
        return Data(humans_models.frame(rows), rows)
    if name == GAINS:
        return _gains(learners.bars(study, kind))
    if name == SIZES:
        return _sizes(humans_models.by_size(study))
    if name == CALIBRATION:
        return _calibration(study, kind)
    return remembered(["figures", name, parameters(study, kind)], lambda: _data(study, kind, name))


def _gains(rows: list[SimpleNamespace]) -> Data:
    learned = list(dict.fromkeys(row.kind for row in rows))[: humans_models.MAX_SERIES]
    rows = [row for row in rows if row.kind in learned]
    frame = pd.DataFrame(map(vars, rows)).rename(columns={"kind": "who"})
    frame["contrast"] = frame["new_arm"] + " against " + frame["base_arm"] + " arm"
    if frame["shots"].nunique() > 1:
        frame["contrast"] += ", " + frame["shots"].astype(str) + " shots"
    return Data(frame[["contrast", "who", "task", "metric", "gain", "low", "high"]], rows)


def _sizes(rows: list[Any]) -> Data:
    names = ["task", "model", "metric", "parameters", "shots", "sd"]
    lines = [
        (row.task.name, row.model, row.task.card.metric, row.parameters,
         "All" if row.shots is None else str(row.shots), row.score.sd_ddof1)
        for row in rows
    ]  # fmt: skip
    return Data(pd.DataFrame(lines, columns=names), rows)


def _calibration(study: Study, kind: str) -> Data:
    kinds = dict.fromkeys([kind, Kind.MODEL])
    rows = [row for each in kinds for row in confidence.at_points(study, each, is_pooled=True)]
    drawn = list(dict.fromkeys(row.who for row in rows))[: humans_models.MAX_SERIES]
    rows = [row for row in rows if row.who in drawn]
    lines = [(row.task, row.who, row.chance, *row.s1[:3], row.answers) for row in rows]
    names = ["task", "who", "chance", "s1", "low", "high", "answers"]
    return Data(pd.DataFrame(lines, columns=names), rows)


def _data(study: Study, kind: str, name: str) -> Data:
    people, rows = findings.curve(study, kind, name)
    if name == "shots":
        return _shot_curve(study, people, rows)
    if name == "learning":
        curve = _with_means(people, learning.group_means(people, ["block", "first", "last"]))
        curve["middle"] = (curve["first"] + curve["last"]) / 2
        return Data(curve, rows)
    return Data(_with_means(people, learning.group_means(people, ["part"])), rows)


def _with_means(people: pd.DataFrame, means: pd.DataFrame) -> pd.DataFrame:
    """Concatenate annotators and their means, distinguished by a `what` column."""
    both = pd.concat([people.assign(what="annotator"), means.assign(what="mean")])
    names = ["task", "shots", "what"]
    return both[[*names, *(name for name in both.columns if name not in names)]]


def _shot_curve(study: Study, people: pd.DataFrame, means: list[SimpleNamespace]) -> Data:
    tasks = list(study.tasks.with_reports())
    baselines = {task.name: scores.bounds(task).line for task in tasks}
    metrics = {task.name: task.card.metric for task in tasks}
    rows = [
        SimpleNamespace(
            **vars(row), score=row.mean, metric=metrics[row.task], baseline=baselines[row.task]
        )
        for row in means
    ]
    people["score"] *= 100
    names = [
        "task", "metric", "shots", "what", "annotator", "score", "low", "high", "n", "baseline",
        "no_interval", "question",
    ]  # fmt: skip
    frame = pd.concat(
        [
            people.assign(
                what="annotator",
                baseline=people["task"].map(baselines),
                metric=people["task"].map(metrics),
            ),
            pd.DataFrame(list(map(vars, rows))).assign(what="mean", question=BOTH),
        ]
    )
    return Data(frame.reindex(columns=names), rows)


def in_file(frame: pd.DataFrame) -> pd.DataFrame:
    x_100 = [name for name in frame.columns if name in X_100]
    names = {"low": "low_95", "high": "high_95", "who": "name"}
    return frame.assign(**{name: frame[name].map(hundredth) for name in x_100}).rename(
        columns=names
    )


def frame_csv(kind: str, frame: pd.DataFrame) -> str:
    """Return the unrounded rows of a figure as CSV, with missing values as empty cells."""
    table = in_file(frame)
    rows = ([kind, *map(_cell, row)] for row in table.itertuples(index=False))
    return csv_text(["kind", *table.columns], rows)


def _cell(value: Any) -> Any:
    if isinstance(value, float):
        # pandas turns counts into floats if some rows have none.
        return str(int(value)) if value.is_integer() else number(value)
    return "" if pd.isna(value) else value


NO_MODELS = "No models to compare yet. To add one, upload its predictions under Models."


def page_figures(study: Study, kind: str, steps: set[Step]) -> list[Figure]:
    prefetch_related_objects([study], "tasks")  # several captions use the tasks
    return [figure(study, kind, name, steps) for name in names(study)]


def names(study: Study) -> list[str]:
    has_sizes = humans_models.sized(study).exists()
    has_confidence = bool(study.confidence_share)
    return [
        *NAMES, *[CALIBRATION] * has_confidence, *[SIZES] * has_sizes,
        *[GAINS] * study.is_cross_task,
    ]  # fmt: skip


def answered(study: Study, kind: str) -> set[Step]:
    people = study.participations.counted(kind)
    return {step for step in (Step.TRAINING, Step.ANNOTATION) if people.answers(step).exists()}


SIZES = "sizes"  # only for studies with models whose sizes are stated
NAMES = tuple(name for name in FIGURE_COLUMNS if name != SIZES)
GAINS = "gains"  # only for cross-task studies
CALIBRATION = "calibration"  # only for studies that ask for confidence
COLUMNS = FIGURE_COLUMNS | {GAINS: learners.BARS, CALIBRATION: confidence.POOLED}
# Maps each figure to the step whose answers it is based on.
STEPS = dict.fromkeys(COLUMNS, Step.ANNOTATION) | {"learning": Step.TRAINING}
# Maps each figure to its title. Captions are in templates/documents/figures.txt.
TITLES = {
    "shots": "Shot curve",
    "models": "Humans and models",
    "learning": "Learning curve over the training step",
    "drift": "Drift over the annotation step",
    CALIBRATION: "Calibration curve",
    SIZES: "SD over training splits by model size",
    GAINS: "Gains of annotators and models",
}


def figure(study: Study, kind: str, name: str, of_page: set[Step] | None = None) -> Figure:
    """Return a figure. On a page, `of_page` contains the steps with answers."""
    title = TITLES[name]
    why_not = _why_not(study, kind, name, of_page or answered(study, kind))
    if of_page is not None and name == "models":  # without models, it would repeat the shot curve
        are_others = compared_files.are_compared(study) or any(
            map(scores.name_of, study.tasks.all())
        )
        why_not = why_not or ("" if are_others else NO_MODELS)
    with_models = name in ("models", GAINS)
    programs = marks.programs_mark(study) if kind == Kind.PERSON or with_models else ""
    caption = "" if why_not else f"{_caption(study, kind, name)} {programs}".strip()
    shots = sorted(study.shots)
    chart_of: dict[str, Callable[[pd.DataFrame], charts.Spec]] = {
        "shots": charts.shot_curve,
        "models": charts.humans_and_models,
        "learning": partial(charts.learning_curve, shots=shots),
        "drift": partial(charts.drift_curve, shots=shots),
        CALIBRATION: charts.calibration_curve,
        SIZES: charts.model_sizes,
        GAINS: charts.gains,
    }
    group = "people" if kind == Kind.PERSON else f"{kind} annotators (not people)"
    group = "models" if name == SIZES else group
    return Figure(
        name=name, title=title, caption=caption, description=f"{title} ({group}). {caption}",
        why_not=why_not, load=partial(data, study, kind, name), make=chart_of[name],
        all_columns=COLUMNS[name], tasks=study.tasks.all(), mark=programs,
    )  # fmt: skip


def _caption(study: Study, kind: str, name: str) -> str:
    tasks = study.tasks.all()

    def has_line() -> bool:
        reported = study.tasks.with_reports()
        return any(math.isfinite(scores.bounds(task).line) for task in reported)

    def assumed() -> str:
        people = study.participations.counted(kind).order_by()
        cells = people.values("scenario__task", "scenario__shots").annotate(n=Count("pk"))
        return assumption(cell["n"] for cell in cells)

    # The template calls only the functions that this caption needs.
    values = {
        "metrics": partial(test_sets.in_words, tasks),
        "has_line": has_line, "assumed": assumed,
        "has_uploads": compared_files.files(study).exists,
        "has_published": lambda: any(map(scores.name_of, tasks)),
        "in_file_order": study.training_order == Study.Order.FILE_ORDER,
        "of_people": BOTH, "of_annotators": PEOPLE, "of_splits": OVER_SPLITS,
        "of_gains": QUESTION, "block_size": learning.BLOCK,
    }  # fmt: skip
    return rendered("figures", values, only=name)[name]


def _why_not(study: Study, kind: str, name: str, steps: set[Step]) -> str:
    if name == GAINS:
        return "" if learners.bars(study, kind) else "No learner has completed both arms yet."
    if name == SIZES:
        has_rows = humans_models.by_size(study)
        return "" if has_rows else "No uploaded model has several splits and a stated size."
    if name == CALIBRATION and not data(study, kind, name).numbers:
        return "No annotator in the analysis has stated a confidence."
    if name == "learning" and not any(study.shots):
        return "This study has zero-shot scenarios only, so there is no training step."
    if name == "drift" and study.annotation_order == Study.Order.FILE_ORDER:
        return (
            "All annotators saw the test examples in file order, so a change in S1 over the step"
            " may reflect the difficulty of the examples. A drift curve requires a study with a"
            " shuffled annotation order."
        )
    return "" if STEPS[name] in steps else "No annotator in the analysis has completed the study."
