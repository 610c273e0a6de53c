"""One folder var/ for one database: both hold the same id, and a server with another's refuses.

Uploads, jobs and bundles lie in var/ under the keys of their rows. Another database on the same
folder (a rehearsal, a staging server) would take them for files of nobody and delete them.
"""

import logging
import os
import secrets
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.checks import CheckMessage, Error, Tags, register
from django.core.exceptions import ImproperlyConfigured
from django.db import DatabaseError, connections
from django.db.models import QuerySet

from tasks.models import Installation

FILE = "installation.txt"
logger = logging.getLogger(__name__)


def bind() -> None:
    """Give the database an id, and the folder the same one, where they have none yet."""
    own, _made = _rows().get_or_create(only=True)
    path = _file()
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.exists():
        return
    # Whole or not at all, and never over another's: two servers may start at once.
    part = path.with_name(f".{FILE}.{secrets.token_hex(4)}")
    part.write_text(f"{own.folder_id}\n")
    try:
        os.link(part, path)
    except FileExistsError:
        pass
    finally:
        part.unlink()


def conflict() -> str:
    """What is wrong where the folder belongs to another database, in a sentence; else ""."""
    own = _rows().first()
    path = _file()
    if own is None or not path.exists() or path.read_text().strip() == str(own.folder_id):
        return ""
    return (
        f"The folder {path.parent} belongs to another database: the id in {FILE} is not this"
        " one's. Give each database a folder of its own (HANDFUL_VAR). If the other database is"
        f" gone for good, delete {path} and start again."
    )


def require() -> None:
    """Called when a server or `run_jobs` starts. Raises ImproperlyConfigured for another's folder.

    A database that cannot be asked now, or that no migration has made yet, is not refused: no
    page works without it, so nothing can be deleted either.
    """
    try:
        sentence = conflict()
        if not sentence and Installation.objects.exists():
            if not _file().exists():
                logger.warning(
                    "The folder %s is new to this database. Several servers of one database share"
                    " one folder (HANDFUL_VAR): else each sees its own uploads alone.",
                    settings.VAR_DIR,
                )
            bind()
    except DatabaseError:
        return
    if sentence:
        raise ImproperlyConfigured(sentence)


def bind_after_migrate(using: str, **_kwargs: Any) -> None:
    """Receiver of post_migrate, also of a migrate of other apps alone."""
    if using == "default" and _has_table():
        bind()


def _has_table() -> bool:
    return Installation._meta.db_table in connections["default"].introspection.table_names()


def _rows() -> QuerySet[Installation]:
    """Without what later migrations have added: the check runs before them."""
    return Installation.objects.only("folder_id")


def _file() -> Path:
    return Path(settings.VAR_DIR) / FILE


@register(Tags.database)
def folder_is_its_own(
    *, databases: Sequence[str] | None = None, **_kwargs: Any
) -> list[CheckMessage]:
    """System check: var/ belongs to this database. `check --database default`, and migrate."""
    if "default" not in (databases or []) or not _has_table():
        return []
    sentence = conflict()
    return [Error(sentence, id="tasks.E001")] if sentence else []
