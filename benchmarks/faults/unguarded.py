"""The control of racing_arrivals: Handful without the lock that decides about seats."""

from annotation.models.study import StudyQuerySet
from config.wsgi import application as application


def locked(self: StudyQuerySet) -> StudyQuerySet:
    return self


StudyQuerySet.locked = locked
