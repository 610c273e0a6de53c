"""Django models for tasks, predictions, jobs and uploads.

Start with `task.py`. This app does not depend on studies or annotators.
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
    Image,
    Split,
    Task,
    TaskMember,
    TaskQuerySet,
    TaskReport,
    TaskUpload,
    UnfinishedImport,
)
