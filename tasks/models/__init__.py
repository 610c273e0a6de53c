"""What is asked: tasks and what models predicted for them; apart from these, jobs and uploads.

Begin at `task.py`. Nothing in this app knows about people who answer.
"""

from tasks.models.job import Installation, Job, PeriodicPart
from tasks.models.predictions import (
    LanguageModel,
    Prediction,
    PredictionFile,
    PredictionFileQuerySet,
)
from tasks.models.task import (
    Example,
    Split,
    Task,
    TaskMember,
    TaskQuerySet,
    TaskReport,
    TaskUpload,
    UnfinishedImport,
)

__all__ = [
    "Example",
    "Installation",
    "Job",
    "LanguageModel",
    "PeriodicPart",
    "Prediction",
    "PredictionFile",
    "PredictionFileQuerySet",
    "Split",
    "Task",
    "TaskMember",
    "TaskQuerySet",
    "TaskReport",
    "TaskUpload",
    "UnfinishedImport",
]
