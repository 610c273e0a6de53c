"""Databases from before release 0.2.0 are refused: their migrations are no longer here.

Each app has had one migration since then, with the name of the first one of before. Older databases
have other tables than it makes, so neither migrate nor a server may touch them.
"""

from typing import Any

from django.core.exceptions import ImproperlyConfigured
from django.core.management.base import CommandError
from django.db import DatabaseError, connections
from django.db.backends.base.base import BaseDatabaseWrapper

# What they have: a table that got another name later, or the second migration of either line.
TABLE = "annotation_studyevent"
SECOND = ["0002_find_the_latest_turn", "0002_reading_time_of_reveals"]
SENTENCE = (
    "This database was made before 0.2.0, and nothing was changed: export its studies with the"
    " version that made it, then start with an empty one (docs/operating.md)."
)


def is_retired(connection: BaseDatabaseWrapper) -> bool:
    """Was this database made by the migrations of before 0.2.0?"""
    tables = connection.introspection.table_names()
    if TABLE in tables or "django_migrations" not in tables:
        return TABLE in tables
    with connection.cursor() as cursor:
        cursor.execute("SELECT 1 FROM django_migrations WHERE name IN (%s, %s)", SECOND)
        return cursor.fetchone() is not None


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
