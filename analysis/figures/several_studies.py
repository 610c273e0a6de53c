"""Comparison of several studies in one figure and table, including differences in their designs.

Annotators from different studies are never pooled: each study has its own line.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from functools import partial
from types import SimpleNamespace
from typing import Any

from analysis.figures import charts, humans_models
from analysis.figures import data as figure_data
from analysis.figures.humans_models import SeriesRow
from analysis.scores import marks, test_sets
from analysis.scores.columns import assumption
from analysis.scores.markup import rendered
from annotation.models import Kind, Study
from tasks.cards import place
from tasks.columns import NOTHING, Column
from tasks.formats import digest_of
from tasks.models import Task

MAX_STUDIES = 6  # how many lines can be distinguished in print
LONG = 60  # characters; longer values are replaced by a digest
# Maps manifest keys to labels. For all other keys, underscores become spaces.
WORDS = {
    "hourly_rate": "pay per hour",
    "comprehension_questions": "comprehension questions",
    "qualification.rule": "rule after training",
    "qualification.threshold": "its threshold",
    "qualification.screening_examples": "screening examples at zero shots",
    "pay.active_time": "active time",
    "consent_text": "consent text",
}
# Keys that do not affect annotators' work, or that are covered by another row.
UNTOLD = {"name", "title", "scenarios", "tasks", "seed", "screening_hashes",
          "attention_check_hashes"}  # fmt: skip
NAME = "Several studies"


def _figure(studies: Sequence[Study], kind: str, rows: list[SeriesRow]) -> figure_data.Figure:
    """Return a figure for all studies. `why_not` is set if none contain data."""
    tasks = Task.objects.filter(studies__in=studies).distinct()
    group = Kind(kind).label if kind != Kind.PERSON else "people"
    programs = " ".join(
        f"{title_of(study, studies)}: {mark}"
        for study in studies
        if kind == Kind.PERSON and (mark := marks.programs_mark(study))
    )
    values = {
        "metrics": test_sets.in_words(tasks), "group": group, "of_people": humans_models.BOTH,
        "assumed": assumption(row.n for row in rows), "programs": programs,
    }  # fmt: skip
    caption = rendered("figures", values, only="several-studies")["several-studies"]
    nothing = "No annotator of this kind who completed any of these studies is in the analysis."
    return figure_data.Figure(
        name="several-studies",
        title=NAME,
        caption=caption,
        description=f"{NAME}. {caption}",
        why_not="" if rows else nothing,
        load=lambda: figure_data.Data(humans_models.frame(rows), rows),
        make=charts.humans_and_models,
        all_columns=humans_models.COLUMNS,
        tasks=tasks,
        mark=programs,
    )


def compare(studies: Sequence[Study], kind: str) -> SimpleNamespace:
    """Compare these studies. `without` lists those without completed annotators of this kind.

    `differing` has rows of the designs with `what`, and `values` by name of the study.
    """
    rows: list[SeriesRow] = []
    without = []
    for study in studies:
        points = figure_data.data(study, kind, "shots").numbers
        if not points:
            without.append(study.name)
        rows += humans_models.people_rows(study, points, title_of(study, studies))
    rows.sort(key=lambda row: (place(row.task), row.shots))
    columns = [
        Column(f"study_{study.name}", title_of(study, studies),
               get=partial(lambda name, row: row.values[name], study.name))
        for study in studies
    ]  # fmt: skip
    return SimpleNamespace(
        studies=studies, kind=kind, differing=list(differing(studies)), without=without,
        design_columns=[Column("what", "Design property"), *columns],
        figure=_figure(studies, kind, rows),
    )  # fmt: skip


def title_of(study: Study, studies: Sequence[Study]) -> str:
    namesakes = [other for other in studies if other.title == study.title]
    return f"{study.title} ({study.name})" if namesakes[1:] or not study.title else study.title


def differing(studies: Sequence[Study]) -> Iterator[SimpleNamespace]:
    designs = {study.name: dict(_design(study)) for study in studies}
    for label in dict.fromkeys(key for values in designs.values() for key in values):
        values = {name: design.get(label, NOTHING) for name, design in designs.items()}
        if len(set(values.values())) > 1:
            yield SimpleNamespace(what=label, values=values)


def _design(study: Study) -> Iterator[tuple[str, str]]:
    if not study.manifest:
        yield "design", "a draft: not frozen"
        return
    manifest = json.loads(study.manifest)
    cells = manifest["scenarios"]
    yield "tasks", ", ".join(sorted({cell["task"] for cell in cells}))
    yield "shots", ", ".join(map(str, sorted({cell["shots"] for cell in cells})))
    splits = sorted({cell["split"] for cell in cells if cell["split"] is not None})
    yield "training splits", ", ".join(map(str, splits)) or "none"
    yield "seats of a scenario", ", ".join(map(str, sorted({cell["seats"] for cell in cells})))
    for key, value in manifest.items():
        if key not in UNTOLD:
            yield from _flat(key, value)
    # The version, test set and card of a task show whether studies asked the same questions.
    for task in manifest["tasks"]:
        name = task["name"]
        yield f"{name}: version", str(task["version"])
        tests = [split for split in task["splits"] if split["kind"] == "test"]
        digests = (f"{test['sha256'][:8]} ({test['examples']})" for test in tests)
        yield f"{name}: test set", ", ".join(digests)
        for key, value in task["card"].items():
            if key != "name":
                yield f"{name}: {key.replace('_', ' ')}", _text(value)


def _flat(key: str, value: Any) -> Iterator[tuple[str, str]]:
    if isinstance(value, dict):
        for inner, part in value.items():
            yield from _flat(f"{key}.{inner}", part)
        return
    yield WORDS.get(key, key.replace("_", " ").replace(".", ": ")), _text(value)


def _text(value: Any) -> str:
    """Format a value on one line, replacing long text with a digest that identifies it."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if value in (None, "", [], {}):
        return "none"
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    if len(text) <= LONG and "\n" not in text:
        return text
    return f"text {digest_of([text])[:8]} ({len(text)} characters)"
