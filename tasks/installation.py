"""Startup checks that the database and the var/ folder belong to this installation.

Files of uploads, jobs and bundles are stored in var/ under the keys of their rows. A different
database that uses the same folder (for a rehearsal or staging) would consider them orphaned and
delete them. To prevent this, the folder and its database share an id.

Databases from before release 0.2.0 are also rejected. Since 0.2.0, each app has a single migration,
which has the same name as the former first one but creates different tables.
"""

import logging
import os
import secrets
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.checks import CheckMessage, Error, Tags, register
from django.core.exceptions import ImproperlyConfigured
from django.core.management.base import CommandError
from django.db import DatabaseError, connections
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.models import Model, QuerySet

from tasks.models import Installation

FILE = "installation.txt"
# Old databases have a table that was later renamed, or the second migration of either branch.
OLD_TABLE = "annotation_studyevent"
OLD_SECOND = ["0002_find_the_latest_turn", "0002_reading_time_of_reveals"]
OLD = (
    "This database was created before 0.2.0. Nothing was changed. Export its studies with the"
    " version that created it, then start with an empty database (docs/operating.md)."
)
logger = logging.getLogger(__name__)


def bind() -> None:
    """Store the same id in the database and the folder, unless they already have one."""
    row, _created = _rows().get_or_create(only=True)
    path = _file()
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.exists():
        return
    # This is atomic and never overwrites the file, because two servers may start at once.
    part = path.with_name(f".{FILE}.{secrets.token_hex(4)}")
    part.write_text(f"{row.folder_id}\n")
    try:
        os.link(part, path)
    except FileExistsError:
        pass
    finally:
        part.unlink()


def conflict() -> str:
    """Return an error message if the folder belongs to another database, otherwise ""."""
    row = _rows().first()
    path = _file()
    if row is None or not path.exists() or path.read_text().strip() == str(row.folder_id):
        return ""
    return (
        f"The folder {path.parent} belongs to another database: the id in {FILE} is not this"
        " one's. Use a separate folder for each database (HANDFUL_VAR). If the other database no"
        f" longer exists, delete {path} and start again."
    )


def require() -> None:
    """Reject an old database, or that of another folder, at startup. Raises ImproperlyConfigured.

    Unreachable and unmigrated databases are accepted, because nothing can be deleted.
    """
    try:
        if is_old(connections["default"]):
            raise ImproperlyConfigured(OLD)
        problem = conflict()
        if not problem and Installation.objects.exists():
            if not _file().exists():
                logger.warning(
                    "The folder %s is new to this database. Servers of one database must share one"
                    " folder (HANDFUL_VAR); otherwise each sees only its own uploads.",
                    settings.VAR_DIR,
                )
            bind()
    except DatabaseError:
        return
    if problem:
        raise ImproperlyConfigured(problem)


def is_old(connection: BaseDatabaseWrapper) -> bool:
    """Return whether this database was created by migrations from before 0.2.0."""
    tables = connection.introspection.table_names()
    if OLD_TABLE in tables or "django_migrations" not in tables:
        return OLD_TABLE in tables
    with connection.cursor() as cursor:
        cursor.execute("SELECT 1 FROM django_migrations WHERE name IN (%s, %s)", OLD_SECOND)
        return cursor.fetchone() is not None


def refuse_old(using: str, **_kwargs: Any) -> None:
    """Reject old databases before any change (pre_migrate receiver). Raises CommandError."""
    if is_old(connections[using]):
        raise CommandError(OLD)


def bind_after_migrate(using: str, **_kwargs: Any) -> None:
    """Bind the folder to the database (post_migrate receiver, even if only other apps migrate)."""
    if using == "default" and has_table(Installation):
        bind()


def has_table(model: type[Model]) -> bool:
    return model._meta.db_table in connections["default"].introspection.table_names()


def _rows() -> QuerySet[Installation]:
    """Query without columns that later migrations add, because the check runs before them."""
    return Installation.objects.only("folder_id")


def _file() -> Path:
    return Path(settings.VAR_DIR) / FILE


def check_database(model: type[Model], conflict: Callable[[], str], id: str) -> None:
    """Register a check for `check --database default` and migrate, once the model has a table."""

    @register(Tags.database)
    def check(*, databases: Sequence[str] | None = None, **_kwargs: Any) -> list[CheckMessage]:
        if "default" not in (databases or []) or not has_table(model):
            return []
        problem = conflict()
        return [Error(problem, id=id)] if problem else []


check_database(Installation, conflict, "tasks.E001")
