"""What this machine has: settings, keys, folders, disk, static files, clocks, backups."""

import ctypes
import json
import os
import shutil
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from urllib.parse import urlsplit

from django.conf import settings
from django.core import checks
from django.utils import timezone

from annotation import key_check
from annotation.management import backups
from annotation.models import AuditEntry, Turn
from config import health
from config.doctor.findings import Finding, fail, ok, warn
from tasks import installation
from tasks.clock import database_now

KEYS = ("SECRET_KEY", "WORKER_KEY", "IDENTITY_KEY")
LITTLE_SPACE = 2_000_000_000  # bytes: a warning; health.LEAST_SPACE is a failure
SKEW = timedelta(seconds=2)
LONGEST_WITHOUT_BACKUP = timedelta(days=2)
# Of Django's checks: what follows from HTTPS=0, from DEBUG=1, and where keys are from.
SAID_OTHERWISE = {f"security.W0{number:02}" for number in (4, 8, 12, 16, 18)}
SAID_OTHERWISE |= {"config.W002", "config.W003"}
NOT_SYNCHRONISED = 5  # what adjtimex(2) returns


def settings_fit() -> Iterator[Finding]:
    """What Django's own checks of a deployment say, and settings that do not fit one another."""
    if settings.DEBUG:
        yield fail("DEBUG=1 shows tracebacks and settings to everybody.", "Unset DEBUG.")
    site = urlsplit(settings.SITE_URL)
    if "*" in settings.ALLOWED_HOSTS:
        yield warn(
            "ALLOWED_HOSTS=* takes any name: links in mails can be made to lead elsewhere.",
            "Name the hosts, such as ALLOWED_HOSTS=annotate.example.org.",
        )
    elif site.hostname and not _is_allowed(site.hostname):
        yield fail(
            f"SITE_URL is {settings.SITE_URL}, but {site.hostname} is not in ALLOWED_HOSTS.",
            f"Add {site.hostname} to ALLOWED_HOSTS.",
        )
    if site.scheme and (site.scheme == "https") != settings.HTTPS:
        yield fail(
            f"SITE_URL begins with {site.scheme}, but HTTPS is {int(settings.HTTPS)}.",
            f"Set HTTPS={int(site.scheme == 'https')}, or change SITE_URL.",
        )
    if settings.METRICS_TOKEN and len(settings.METRICS_TOKEN) < 20:
        yield warn("METRICS_TOKEN is short: it can be guessed.", "Use `openssl rand -hex 32`.")
    if not settings.HTTPS:
        yield warn(
            "HTTPS=0: passwords and personal links travel as anybody on the way can read them.",
            "Put a proxy with TLS in front (docs/operating.md#set-up), and set HTTPS=1.",
        )
    told = checks.run_checks(tags=[checks.Tags.security], include_deployment_checks=True)
    for message in told:
        if not message.is_silenced() and message.id not in SAID_OTHERWISE:
            what = " ".join(str(message.msg).split())
            hint = " ".join((message.hint or "docs/operating.md#settings").split())
            yield warn(f"{what} ({message.id})", hint)
    yield ok(f"Handful {settings.VERSION}; hosts {', '.join(settings.ALLOWED_HOSTS)}")


def _is_allowed(host: str) -> bool:
    return any(
        host == name or (name.startswith(".") and f".{host}".endswith(name))
        for name in settings.ALLOWED_HOSTS
    )


def keys() -> Iterator[Finding]:
    """Where each key is from; that they differ; that they are those of the data.

    A short or empty one stops every command before this one, with a sentence.
    """
    values = [getattr(settings, name) for name in KEYS]
    if len(set(values)) < len(KEYS):
        yield fail(
            "Two of SECRET_KEY, WORKER_KEY, IDENTITY_KEY are the same text.",
            "Give a new installation three different ones. WORKER_KEY and IDENTITY_KEY of one with"
            " data stay as they are: change SECRET_KEY.",
        )
    files = {name: Path(settings.VAR_DIR) / f"{name.lower()}.txt" for name in KEYS}
    if read := [name for name in KEYS if not os.environ.get(name)]:
        yield warn(
            f"{', '.join(read)}: from files in {settings.VAR_DIR}; another machine, or a lost"
            " folder, has others.",
            "Put them into the environment (the files hold them), and back them up apart.",
        )
    for path in files.values():
        if path.exists() and path.stat().st_mode & 0o077:
            yield fail(f"Others can read {path}.", f"chmod 600 {path}")
    if sentence := key_check.wrong():
        yield fail(f"{sentence.partition('.')[0]}.", sentence.partition(". ")[2])
    else:
        marks = ", ".join(f"{name} {mark}" for name, mark in backups.fingerprints().items())
        yield ok(f"Fingerprints, as in backups: {marks}")


def folder() -> Iterator[Finding]:
    """var/: its database's, ours, writable, and nobody else's to read."""
    path = Path(settings.VAR_DIR)
    if sentence := installation.conflict():
        yield fail(f"{sentence.partition('. ')[0]}.", sentence.partition(". ")[2])
    info = path.stat()
    if info.st_uid != os.geteuid():
        yield warn(
            f"{path} belongs to user {info.st_uid}, and this is run by {os.geteuid()}.",
            "Run commands as the server's user (sudo -u handful), or it cannot write their files.",
        )
    if info.st_mode & 0o077:
        yield fail(f"Others can read {path}.", f"chmod 700 {path}")
    others = [entry for name in backups.FOLDERS for entry in _not_ours(path / name, info.st_uid)]
    if others:
        yield fail(
            f"{len(others)} files belong to another user than {path}, such as {others[0]}.",
            f"chown -R --reference={path} {path}",
        )
    if not os.access(path, os.W_OK):
        yield fail(f"{path} cannot be written to.", f"Make it this user's: chown {path}")
    else:
        yield ok(f"{path} is this database's")


def _not_ours(folder: Path, owner: int) -> list[Path]:
    return [path for path in folder.rglob("*") if path.lstat().st_uid != owner]


def disk() -> Iterator[Finding]:
    """Room where files and, with SQLite, the database are."""
    database = settings.DATABASES["default"]
    places = {Path(settings.VAR_DIR)}
    if database["ENGINE"].endswith("sqlite3") and Path(database["NAME"]).parent.is_dir():
        places.add(Path(database["NAME"]).parent)
    for place in sorted(places):
        free = shutil.disk_usage(place).free
        what = f"{free / 1e9:.1f} GB are free in {place}"
        if free < health.LEAST_SPACE:
            yield fail(f"{what}: uploads are refused.", "Delete old backups or logs; enlarge it.")
        elif free < LITTLE_SPACE:
            yield warn(f"{what}.", "Make room before it is full: then answers are refused, too.")
        else:
            yield ok(what)


def static_files() -> Iterator[Finding]:
    """Collected, complete, and as new as their sources."""
    collect = "manage.py collectstatic --noinput, then restart the server."
    manifest = Path(settings.STATIC_ROOT) / "staticfiles.json"
    if not manifest.exists():
        yield warn(f"Static files were not collected into {manifest.parent}.", collect)
        return
    collected = json.loads(manifest.read_text())["paths"]
    for root in map(Path, settings.STATICFILES_DIRS):
        sources = [path for path in root.rglob("*") if path.is_file()]
        names = {path.relative_to(root).as_posix() for path in sources}
        missing = sorted(names - collected.keys())
        if missing:
            yield fail(f"{len(missing)} static files are missing, such as {missing[0]}.", collect)
            return
        if max(path.stat().st_mtime for path in sources) > manifest.stat().st_mtime:
            yield warn("Static files are newer than those that were collected.", collect)
            return
    yield ok(f"{len(collected)} static files")


def clocks() -> Iterator[Finding]:
    """This machine's, the database's, a time server's, and that none was set back."""
    ahead = database_now() - timezone.now()
    if abs(ahead) > SKEW:
        yield fail(
            f"The database's clock and this machine's differ by {ahead.total_seconds():.1f} s.",
            "Run NTP on both: timedatectl set-ntp true.",
        )
    for what, model, field in (("answer", Turn, "shown_at"), ("log entry", AuditEntry, "at")):
        latest = model.objects.order_by("-pk").values_list(field, flat=True).first()
        if latest is not None and latest > database_now() + SKEW:
            yield fail(
                f"The last {what} is of {latest:%Y-%m-%d %H:%M} UTC, later than now: a clock was"
                " set back.",
                "Set the clock by NTP; times of work between then and now are not to be trusted.",
            )
    if (state := _adjtimex()) == NOT_SYNCHRONISED:
        yield warn(
            "This machine's clock is not synchronised.",
            "timedatectl set-ntp true (systemd-timesyncd, or chrony).",
        )
    yield ok("Clocks agree" if state >= 0 else "Clocks agree; NTP cannot be asked here")


def _adjtimex() -> int:
    """What the kernel says of the clock, reading only; -1 where it may not be asked."""
    try:
        return int(ctypes.CDLL(None).adjtimex(ctypes.create_string_buffer(512)))
    except (OSError, AttributeError):
        return -1


def backup() -> Iterator[Finding]:
    """When `manage.py backup` last wrote one here; other tools leave no trace."""
    when = backups.last()
    how = "Add the backup line of docs/operating.md#cron, and restore one for a trial."
    if when is None:
        yield warn("manage.py backup has never run with this folder.", how)
    elif (age := datetime.now(UTC) - when) > LONGEST_WITHOUT_BACKUP:
        yield warn(f"The last backup is {age.days} days old.", how)
    else:
        yield ok(f"The last backup is of {when:%Y-%m-%d %H:%M} UTC")
