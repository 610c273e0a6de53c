"""The section of the report on models: their scores on the same examples, and the differences.

A model comes in by a file of predictions, or in the annotator's seat; both stand here.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from operator import attrgetter

from analysis.documents import differences
from analysis.documents.blocks import Block, Grid
from analysis.documents.study_record import StudyRecord
from analysis.tables import metrics, seated_models
from analysis.tables.scores import Score
from annotation.models import Kind
from tasks.columns import Column, on_page
from tasks.models import Task


@dataclass(frozen=True)
class Scored:
    """A model on one task at one number of shots; `unit` is what its SD is over."""

    model: str
    task: Task
    shots: int
    score: Score
    unit: str


MODELS = [
    Column("model", "Model"),
    Column("task", "Task", get=attrgetter("task.name")),
    Column("shots", "Shots"),
    Column("metric", "Metric", get=attrgetter("task.card.metric")),
    Column("score", "Score x 100", get=attrgetter("score.text")),
    Column("splits", "Splits", get=lambda row: f"{row.score.n} of {row.score.of}"),
]
NOTE = (
    "Mean ± SD (ddof = 1) over training splits, at zero shots over runs; scored by the same"
    " function as people."
)
SEATED_NOTE = (
    "A model in the annotator's seat took part by the API, in the steps of people; its replicates"
    " on a training split are averaged first."
)
EVERY_METRIC = on_page(metrics.COLUMNS)


def blocks(record: StudyRecord) -> list[Block]:
    """Scores of each model, of everybody under every metric, people minus models, and effort.

    Nothing where no model was uploaded and none took part.
    """
    seated = list(_seated(record)) if record.has_seated_models else []
    if not seated and not record.model_names:
        return []
    uploaded = [
        Scored(row.model, row.task, row.shots, row.score, row.unit) for row in record.models
    ]
    notes = [NOTE, SEATED_NOTE] if seated else [NOTE]
    shown: list[Block] = [Grid.of("Models", MODELS, [*uploaded, *seated], notes)]
    if every := metrics.page_rows(record.study, Kind.PERSON):
        shown.append(
            Grid.of("People and models under every metric", EVERY_METRIC, every, [metrics.NOTE])
        )
    shown += differences.people_minus_models(record)
    if efforts := seated_models.efforts(record.study):
        columns = on_page(seated_models.EFFORT)
        notes = [differences.meanings(columns)]
        shown.append(Grid.of("What an answer took", columns, efforts, notes))
    return shown


def _seated(record: StudyRecord) -> Iterator[Scored]:
    """The models in the annotator's seat, by number of shots; only where they have a score."""
    for shots in sorted(record.study.shots):
        rows = seated_models.scores(record.study, record.tasks, shots, record.frame)
        for model, unit, scores in rows:
            for task, score in zip(record.tasks, scores, strict=True):
                if score.n:
                    yield Scored(model, task, shots, score, unit)
