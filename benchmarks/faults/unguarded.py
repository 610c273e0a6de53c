"""The control of racing_arrivals: Handful without the lock that decides about seats."""

# Django is set up before a model can be imported.
from config.wsgi import application as application  # isort: skip
from annotation.models.study import StudyQuerySet


def locked(self: StudyQuerySet) -> StudyQuerySet:
    return self


StudyQuerySet.locked = locked
