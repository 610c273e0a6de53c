"""Sections of the report: intervals of the means, differences between shots, people minus models.

Each table says below it which question its intervals answer.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from analysis.documents.blocks import Block, Grid, Paragraph
from analysis.documents.study_record import StudyRecord
from analysis.tables import differences, findings_columns, models_columns, resampling
from analysis.tables.columns import ASSUMES, FEW
from analysis.tables.findings import Finding
from analysis.tables.tested import contrasts
from annotation.models import Kind, Study
from tasks.columns import Column, on_page

# Captions of the tables, by which the methods section knows what was computed.
OF_MEANS, OF_RESAMPLES, OF_SHOTS, OF_MODELS = (
    "Means with 95 % intervals", "Bootstrap intervals of the means", "Differences between shots",
    "People minus models",
)  # fmt: skip
MEANS = ("Task", "Shots", "n", "Mean", "95 % CI", "Other people")
BOOTSTRAPS = ("Task", "Shots", "n", "Other examples", *findings_columns.OVER_PEOPLE)
MODELS = (
    "Model", "Task", "Shots", "Training", "Difference", "95 % CI", "p", "p Holm", "Equivalence",
    "Smallest margin", "p sign flip", "Smallest p",
)  # fmt: skip


def uncertainty(record: StudyRecord) -> list[Block]:
    """The means with their intervals, and the differences between shots."""
    if record.analysed.empty:
        return [Paragraph("No annotator has completed the study yet.")]
    shown = headed(findings_columns.COLUMNS["intervals"], MEANS)
    study = record.study
    tables = resampling.tables(study, Kind.PERSON, "intervals", frame=record.answered)
    means = tables["intervals"]
    blocks: list[Block] = [_grid(OF_MEANS, shown, means, [meanings(shown)]), _bootstraps(means)]
    rows = contrasts(record.answered, study.seed, study.equivalence_margin)
    if rows:
        shown = _asked(study, on_page(findings_columns.COLUMNS["contrasts"]))
        blocks.append(_grid(OF_SHOTS, shown, rows, [meanings(shown)]))
    return blocks


def _bootstraps(means: Sequence[Finding]) -> Grid:
    """The bootstraps of the means; those over people only where a cell has enough of them."""
    known = {column.heading for column in findings_columns.table("intervals", means).columns}
    chosen = [heading for heading in BOOTSTRAPS if heading in known]
    shown = headed(findings_columns.COLUMNS["intervals"], chosen)
    return Grid.of(OF_RESAMPLES, shown, means, [f"{findings_columns.RESAMPLED} {meanings(shown)}"])


def people_minus_models(record: StudyRecord) -> list[Block]:
    """The differences from models; nothing where there are none."""
    rows = differences.differences(record.study, Kind.PERSON)
    if not rows:
        return []
    shown = _asked(record.study, headed(models_columns.DIFFERENCES, MODELS))
    notes = [f"In points, paired by example. {differences.LEFT_OUT}", meanings(shown[3:])]
    if late := differences.late(rows):
        notes.append(late)
    return [_grid(OF_MODELS, shown, rows, notes)]


def _asked(study: Study, columns: list[Column]) -> list[Column]:
    """Without the verdict on equivalence where the design has no margin."""
    has_margin = study.equivalence_margin is not None
    return [column for column in columns if has_margin or column.heading != "Equivalence"]


def _grid(caption: str, columns: Sequence[Column], rows: Sequence[Any], notes: list[str]) -> Grid:
    """A table whose notes explain the mark of small groups only where a cell has it."""
    grid = Grid.of(caption, columns, rows)
    if not any(FEW in cell for row in grid.rows for cell in row):
        notes = [note.replace(f"; {ASSUMES}", "") for note in notes]
    return replace(grid, notes=notes)


def headed(columns: Sequence[Column], headings: Sequence[str]) -> list[Column]:
    """The columns of the page with these headings, in this order."""
    by_heading = {column.heading: column for column in on_page(columns)}
    return [by_heading[heading] for heading in headings]


def meanings(columns: Sequence[Column]) -> str:
    """What each column means, in sentences."""
    return " ".join(f"{c.heading}: {c.meaning.rstrip('.')}." for c in columns if c.meaning)
