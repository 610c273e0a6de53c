"""Read secret keys from the environment, or generate them once in the data folder.

The keys are used to hash and encrypt IDs, so an empty, truncated or changed key would silently
corrupt data. Such keys are rejected at startup.
"""

import contextlib
import os
import secrets
import tempfile
from pathlib import Path

from django.core.exceptions import ImproperlyConfigured

SHORTEST = 32  # characters


def secret(name: str, folder: Path) -> str:
    """Return an environment variable, or a stored random secret. Raises ImproperlyConfigured."""
    value = os.environ.get(name, "")
    source = f"the variable {name}"
    if not value:
        path = folder / f"{name.lower()}.txt"
        if not path.exists():
            _make(path)
        value, source = path.read_text().strip(), str(path)
    if len(value) < SHORTEST:
        raise ImproperlyConfigured(
            f"{source} has {len(value)} characters, but a key has at least {SHORTEST}. If the key"
            " was truncated, restore it from your backup. On a new installation, delete the file."
        )
    return value


def _make(path: Path) -> None:
    """Write a new secret to a temporary file and link it to `path` unless that already exists."""
    descriptor, draft = tempfile.mkstemp(dir=path.parent)  # mode 0600
    try:
        with open(descriptor, "w") as file:
            file.write(secrets.token_urlsafe(48))
            file.flush()
            os.fsync(file.fileno())
        # If several processes start at once, the first link wins, and the others read that file.
        with contextlib.suppress(FileExistsError):
            os.link(draft, path)
    finally:
        os.unlink(draft)


def private_folder(path: Path) -> Path:
    """Create a folder for personal links and hashes, which only this user can access."""
    path.mkdir(mode=0o700, parents=True, exist_ok=True)
    _restrict_mode(path, 0o700)
    return path


def private_file(path: Path) -> Path:
    """Create a file that only this user can access, unless it already exists."""
    os.close(os.open(path, os.O_CREAT | os.O_RDWR, 0o600))
    _restrict_mode(path, 0o600)
    return path


def _restrict_mode(path: Path, mode: int) -> None:
    info = path.stat()
    if info.st_mode & 0o077 and info.st_uid == os.geteuid():
        path.chmod(mode)
