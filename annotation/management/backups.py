"""Back up the database and the files in var/ to a single file, and restore them from it.

A backup contains only fingerprints of the keys, because anyone with both the data and the keys can
read workers' IDs. It is a tar archive. To detect truncated or modified files, its last member,
backup.json, contains the SHA-256 of all others.
"""

import contextlib
import hashlib
import json
import os
import shutil
import sqlite3
import subprocess
import tarfile
import tempfile
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, Any

from django.conf import settings
from django.core.management.base import CommandError
from django.db import connection
from psycopg2.extensions import make_dsn

from tasks import installation

FORMAT = "handful-backup-1"
LAST = "backup.json"
WRITTEN = "last_backup.txt"  # in var/, for `manage.py check`
DATABASES = {"sqlite": "database.sqlite3", "postgresql": "database.dump"}
KEYS = ("SECRET_KEY", "WORKER_KEY", "IDENTITY_KEY")
FOLDERS = ("uploads", "jobs")  # in var/
# Backups omit the rows of these tables, because they must not contain valid sessions.
LEFT_OUT = ("django_session", "shared_cache")
# Options that locate the database. All others are omitted: limits must not apply to dumps.
PLACE = ("host", "port", "user", "dbname", "service", "sslmode", "sslrootcert", "sslcert", "sslkey")


def write(path: Path) -> dict[str, Any]:
    """Write a backup while the server is running and return the contents of backup.json.

    Files are read after the database, so the backup includes every file to which the database
    refers. `path` must not exist, and is created when the backup is complete. Raises CommandError.
    """
    if path.exists():
        raise CommandError(f"{path} already exists. Choose a new file.")
    if not path.parent.is_dir():
        raise CommandError(f"{path.parent} is not a folder.")
    with tempfile.TemporaryDirectory(prefix=".backup-", dir=path.parent) as folder:
        database = Path(folder) / DATABASES[connection.vendor]
        dump(database)
        archive = Path(folder) / "archive"
        with tarfile.open(archive, "w") as tar:
            contents = _add(tar, [(database.name, database), *_files()], Path(folder))
        archive.chmod(0o600)
        os.link(archive, path)  # this fails if the path was created in the meantime
    (Path(settings.VAR_DIR) / WRITTEN).write_text(f"{contents['made_at']}\n")
    return contents


def last() -> datetime | None:
    path = Path(settings.VAR_DIR) / WRITTEN
    return datetime.fromisoformat(path.read_text().strip()) if path.exists() else None


def _add(tar: tarfile.TarFile, members: list[tuple[str, Path]], folder: Path) -> dict[str, Any]:
    """Add the members, and a backup.json that describes them, skipping deleted files."""
    sums = {}
    for name, path in members:
        with contextlib.suppress(FileNotFoundError):
            sums[name] = _sha256(path)
            tar.add(path, name)
    contents = {
        "format": FORMAT,
        "handful": settings.VERSION,
        "database": connection.vendor,
        "made_at": datetime.now(UTC).isoformat(timespec="seconds"),
        "keys": fingerprints(),
        "sha256": sums,
    }
    last = folder / LAST
    last.write_text(json.dumps(contents, indent=1))
    tar.add(last, LAST)
    return contents


def _files() -> list[tuple[str, Path]]:
    """Return (name in the archive, path) for the installation ID and all files in FOLDERS."""
    root = Path(settings.VAR_DIR)
    paths = [root / installation.FILE]
    paths += [path for name in FOLDERS for path in sorted((root / name).rglob("*"))]
    return [(f"var/{path.relative_to(root)}", path) for path in paths if path.is_file()]


def fingerprints() -> dict[str, str]:
    """Return hashes that identify the keys without revealing them."""
    texts = {name: f"handful backup {name} {getattr(settings, name)}" for name in KEYS}
    return {name: hashlib.sha256(text.encode()).hexdigest()[:16] for name, text in texts.items()}


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def dump(path: Path) -> None:
    """Write a snapshot of the database to a file, without the rows of the tables in LEFT_OUT."""
    connection.ensure_connection()
    if connection.vendor == "sqlite":
        with contextlib.closing(sqlite3.connect(path)) as copy:
            connection.connection.backup(copy)
            copy.execute("PRAGMA secure_delete = ON")
            for table in LEFT_OUT:
                copy.execute(f"DELETE FROM {table}")
            copy.commit()
        return
    left_out = [f"--exclude-table-data=*.{table}" for table in LEFT_OUT]
    _run("pg_dump", "--format=custom", *left_out, f"--file={path}")


def _run(program: str, *options: str) -> None:
    """Run a PostgreSQL client without exposing the database password to other users."""
    parameters = connection.get_connection_params()
    place = {name: parameters[name] for name in PLACE if parameters.get(name)}
    secret = {"PGPASSWORD": parameters["password"]} if parameters.get("password") else {}
    command = [program, *options, f"--dbname={make_dsn(**place)}"]
    try:
        process = subprocess.run(
            command, env=os.environ | secret, capture_output=True, text=True, check=False
        )
    except FileNotFoundError:
        raise CommandError(f"{program} is not installed. It is part of PostgreSQL.") from None
    if process.returncode:
        raise CommandError(f"{program} failed: {process.stderr.strip()[:2000]}")


# Restoring ----------------------------------------------------------------------------------------


def restore(path: Path) -> dict[str, Any]:
    """Restore a backup to an empty database and var/. Return the contents of backup.json.

    Raises CommandError, before changing anything, if the file is incomplete, if the engine or keys
    differ from those of the backup, or if the database or var/ isn't empty.
    """
    root = Path(settings.VAR_DIR)
    names = [name for name in (*FOLDERS, installation.FILE) if (root / name).exists()]
    if connection.introspection.table_names():
        raise CommandError(
            "The database is not empty. Restoring never overwrites data, so set an empty one"
            " (DATABASE_URL, or HANDFUL_VAR for SQLite)."
        )
    if names:
        raise CommandError(f"{root} already contains {', '.join(names)} of another installation.")
    with tempfile.TemporaryDirectory(prefix=".restore-", dir=root) as folder:
        with path.open("rb") as file:
            unpack(file, Path(folder), path)
        contents = _checked(Path(folder), path)
        _load(Path(folder) / DATABASES[connection.vendor])
        files = Path(folder) / "var"
        for name in (*FOLDERS, installation.FILE):
            if (files / name).exists():
                shutil.move(files / name, root / name)
    return contents


def unpack(file: IO[bytes], folder: Path, path: Path) -> None:
    """Extract the regular files of an archive. (Python on Debian 12 lacks tar filters.)

    Raises CommandError for members of any other type. `path` is the backup named in messages.
    """
    try:
        with tarfile.open(fileobj=file) as tar:
            for member in tar:
                target = (folder / member.name).resolve()
                source = tar.extractfile(member) if member.isreg() else None
                if source is None or not target.is_relative_to(folder.resolve()):
                    raise CommandError(f"{path} is not a backup: it contains {member.name}.")
                target.parent.mkdir(parents=True, exist_ok=True)
                with target.open("wb") as out:
                    shutil.copyfileobj(source, out)
                target.chmod(member.mode & 0o755)
    except (tarfile.TarError, EOFError) as error:
        raise CommandError(f"{path} is not a complete backup, or is encrypted: {error}") from None


def _checked(folder: Path, path: Path) -> dict[str, Any]:
    """Check the unpacked backup and return the content of backup.json. Raises CommandError."""
    try:
        contents = json.loads((folder / LAST).read_text())
        sums, keys, engine = contents["sha256"], contents["keys"], contents["database"]
    except (OSError, ValueError, KeyError, TypeError):
        raise CommandError(f"{path} is not a complete backup: {LAST} is missing.") from None
    if contents.get("format") != FORMAT:
        raise CommandError(f"{path} has the format {contents.get('format')!r}, not {FORMAT}.")
    if engine != connection.vendor:
        raise CommandError(
            f"{path} is a backup of a database on {engine}, and cannot be restored on"
            f" {connection.vendor}."
        )
    for name, expected in sums.items():
        if not (folder / name).is_file() or _sha256(folder / name) != expected:
            raise CommandError(f"{path}: {name} differs from the file that was backed up.")
    names = [name for name, ours in fingerprints().items() if keys.get(name) != ours]
    if names:
        raise CommandError(
            f"{' and '.join(names)}: not the same key as when the backup was made. Restore the keys"
            " first (environment variables, or files in var/)."
        )
    return contents


def _load(dump: Path) -> None:
    if connection.vendor == "sqlite":
        connection.close()
        target = Path(connection.settings_dict["NAME"])
        for name in (target.name, f"{target.name}-wal", f"{target.name}-shm"):
            target.with_name(name).unlink(missing_ok=True)  # known to be empty
        shutil.move(dump, target)
        target.chmod(0o600)
        return
    _run("pg_restore", "--no-owner", "--no-privileges", "--single-transaction", str(dump))
