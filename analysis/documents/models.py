"""The section of the report on models: their scores on the same examples, and the differences."""

from operator import attrgetter

from analysis.documents import differences
from analysis.documents.blocks import Block, Grid
from analysis.documents.study_record import StudyRecord
from analysis.tables import metrics
from annotation.models import Kind
from tasks.columns import Column, on_page

MODELS = [
    Column("model", "Model"),
    Column("task", "Task", get=attrgetter("task.name")),
    Column("shots", "Shots"),
    Column("metric", "Metric", get=attrgetter("task.card.metric")),
    Column("score", "Score x 100", get=attrgetter("score.text")),
    Column("splits", "Splits", get=lambda row: f"{row.score.n} of {row.score.of}"),
]


EVERY_METRIC = on_page(metrics.COLUMNS)


def blocks(record: StudyRecord) -> list[Block]:
    """Scores of uploaded models, of everybody under every metric, and people minus models."""
    if not record.model_names:
        return []
    note = "Mean ± SD (ddof = 1) over training splits, scored by the same function as people."
    scores = Grid.of("Models", MODELS, record.models, [note])
    every = metrics.page_rows(record.study, Kind.PERSON)
    if every:
        grid = Grid.of("People and models under every metric", EVERY_METRIC, every, [metrics.NOTE])
        return [scores, grid, *differences.people_minus_models(record)]
    return [scores, *differences.people_minus_models(record)]
