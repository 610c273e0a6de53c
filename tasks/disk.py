"""A full disk, named: what to do about it is known, so it is no error that nobody foresaw."""

import contextlib
import errno
import shutil
from collections.abc import Iterator
from pathlib import Path

from django.conf import settings


class DiskFull(Exception):
    """There is no room: a sentence that says what to do."""


@contextlib.contextmanager
def named() -> Iterator[None]:
    """Raise DiskFull for what a full disk raises in the block."""
    try:
        yield
    except OSError as error:
        if not is_full(error):
            raise
        raise DiskFull(sentence()) from None


def is_full(error: BaseException) -> bool:
    """Was there no room for what was to be written?"""
    return isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT)


def sentence() -> str:
    """That the disk is full, how much is left, and what to do."""
    folder = Path(settings.VAR_DIR)
    free = shutil.disk_usage(folder).free // 1_000_000 if folder.exists() else 0
    return f"The disk of var/ is full ({free} MB free). Free some space, then try again."
