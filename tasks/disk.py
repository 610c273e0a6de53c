"""Handling of files: reporting full disks with advice, and removing folders of deleted rows."""

import contextlib
import errno
import shutil
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from django.conf import settings
from django.db.models import QuerySet


class DiskFull(Exception):
    """Raised if the disk is full. The message gives advice."""


@contextlib.contextmanager
def full_errors() -> Iterator[None]:
    """Raise DiskFull if the block fails because the disk is full."""
    try:
        yield
    except OSError as error:
        if not is_full(error):
            raise
        raise DiskFull(full_message()) from None


def is_full(error: BaseException) -> bool:
    return isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT)


def full_message() -> str:
    folder = Path(settings.VAR_DIR)
    free = shutil.disk_usage(folder).free // 1_000_000 if folder.exists() else 0
    return f"The disk of var/ is full ({free} MB free). Free some space, then try again."


def sweep(root: Path, rows: QuerySet[Any]) -> None:
    """Delete the folders of deleted rows after an hour, as new rows may not be committed yet."""
    # List folders before rows, because a folder created in between belongs to a row.
    folders = list(root.iterdir()) if root.is_dir() else []
    names = {str(pk) for pk in rows.values_list("pk", flat=True)}
    for folder in folders:
        with contextlib.suppress(FileNotFoundError):  # another process has deleted it
            if folder.name not in names and folder.stat().st_mtime < time.time() - 3600:
                shutil.rmtree(folder, ignore_errors=True)
