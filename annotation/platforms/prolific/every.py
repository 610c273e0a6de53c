"""What is done with Prolific from time to time, for all studies: events, then statuses."""

from collections.abc import Callable
from typing import Any

from django.db.models import QuerySet

from annotation.models import ProlificStudy, Study
from annotation.platforms.prolific.errors import ProlificError
from annotation.platforms.prolific.rows import Synced
from annotation.platforms.prolific.sync import sync
from annotation.platforms.prolific.webhook import handle_events


class NotSynced(Exception):
    """What could not be synced, one sentence for each."""


def handle_waiting_events() -> str:
    """What Prolific's webhooks have reported. Raises NotSynced."""
    return _told([("events", handle_events)])


def to_sync() -> QuerySet[Study]:
    """The studies on Prolific, but those whose token was removed: their pages say so."""
    there = ProlificStudy.objects.exclude(external_id=None).exclude(account__token="")
    return Study.objects.filter(prolific_studies__in=there).distinct()


def sync_all() -> str:
    """The statuses of all studies on Prolific, each for itself. Raises NotSynced after the last."""

    def work(study: Study) -> Callable[[], Synced]:
        return lambda: sync(study, patient=True)

    return _told([(study.name, work(study)) for study in to_sync()])


def _told(works: list[tuple[str, Callable[[], Any]]]) -> str:
    problems = []
    for name, work in works:
        try:
            problems += [f"{name}: {problem}" for problem in work().problems]
        except ProlificError as error:
            problems.append(f"{name}: {error}")
    if problems:
        raise NotSynced("; ".join(problems))
    return f"{len(works)} synced"
