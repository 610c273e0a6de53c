"""Refuse databases from before release 0.2.0, whose migrations no longer exist.

Since then each app has had one migration, with its former first one's name. Tables of older
databases differ, so neither migrate nor a server may change them.
"""

from typing import Any

from django.core.exceptions import ImproperlyConfigured
from django.core.management.base import CommandError
from django.db import DatabaseError, connections
from django.db.backends.base.base import BaseDatabaseWrapper

# Signs of old databases: a table renamed later, or either branch's second migration.
TABLE = "annotation_studyevent"
SECOND = ["0002_find_the_latest_turn", "0002_reading_time_of_reveals"]
SENTENCE = (
    "This database was created before 0.2.0. Nothing was changed. Export its studies with the"
    " version that created it, then start with an empty database (docs/operating.md)."
)


def is_retired(connection: BaseDatabaseWrapper) -> bool:
    """Was this database made by migrations from before 0.2.0?"""
    tables = connection.introspection.table_names()
    if TABLE in tables or "django_migrations" not in tables:
        return TABLE in tables
    with connection.cursor() as cursor:
        cursor.execute("SELECT 1 FROM django_migrations WHERE name IN (%s, %s)", SECOND)
        return cursor.fetchone() is not None


def require() -> None:
    """Refuse an old database at startup. Raises ImproperlyConfigured.

    An unreachable database is accepted.
    """
    try:
        refused = is_retired(connections["default"])
    except DatabaseError:
        return
    if refused:
        raise ImproperlyConfigured(SENTENCE)


def refuse_migration(using: str, **_kwargs: Any) -> None:
    """Receiver of pre_migrate. Raises CommandError before any change."""
    if is_retired(connections[using]):
        raise CommandError(SENTENCE)
