"""A full disk, handled as an expected error with advice."""

import contextlib
import errno
import shutil
from collections.abc import Iterator
from pathlib import Path

from django.conf import settings


class DiskFull(Exception):
    """The disk is full; the message contains advice."""


@contextlib.contextmanager
def named() -> Iterator[None]:
    """Raise DiskFull for full-disk errors in the block."""
    try:
        yield
    except OSError as error:
        if not is_full(error):
            raise
        raise DiskFull(sentence()) from None


def is_full(error: BaseException) -> bool:
    """Was this error caused by a full disk?"""
    return isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT)


def sentence() -> str:
    """Say that the disk is full, how much space is left, and what to do."""
    folder = Path(settings.VAR_DIR)
    free = shutil.disk_usage(folder).free // 1_000_000 if folder.exists() else 0
    return f"The disk of var/ is full ({free} MB free). Free some space, then try again."
