"""Databases from before release 0.1.0 are refused: their migrations are no longer here.

The migrations of the first weeks were replaced by one per app when 0.1.0 was released. A database
that has run any of them has other tables than 0001 makes, so neither migrate nor a server may touch
it.
"""

from typing import Any

from django.core.exceptions import ImproperlyConfigured
from django.core.management.base import CommandError
from django.db import DatabaseError, connections
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.migrations.recorder import MigrationRecorder

# The first migration after 0001 of either app: every later one stood on it.
SECOND = [("tasks", "0002_attention_checks"), ("annotation", "0002_find_the_latest_turn")]
SENTENCE = (
    "This database was made before 0.1.0, and nothing was changed: export it with the version that"
    " made it, then start with an empty one (docs/operating.md)."
)


def is_retired(connection: BaseDatabaseWrapper) -> bool:
    """Has this database run a migration from before 0.1.0 that is newer than 0001?"""
    recorder = MigrationRecorder(connection)
    return recorder.has_table() and any(
        recorder.migration_qs.filter(app=app, name=name).exists() for app, name in SECOND
    )


def require() -> None:
    """Called when a server starts. Raises ImproperlyConfigured.

    A database that does not answer is not refused.
    """
    try:
        refused = is_retired(connections["default"])
    except DatabaseError:
        return
    if refused:
        raise ImproperlyConfigured(SENTENCE)


def refuse_migration(using: str, **_kwargs: Any) -> None:
    """Receiver of pre_migrate. Raises CommandError before anything is changed."""
    if is_retired(connections[using]):
        raise CommandError(SENTENCE)
