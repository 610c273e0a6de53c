"""The database: is it there, whole, guarded, set up for us; and what waits in it."""

import sqlite3
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

from django.conf import settings
from django.contrib.auth.models import User
from django.db import DatabaseError, connection

from annotation import guards
from annotation.models import Study
from config import health
from config.doctor.findings import Finding, fail, ok, warn
from tasks import periodic
from tasks.clock import database_now
from tasks.models import Job, PeriodicPart

OLDEST_POSTGRESQL = 140000
NETWORKS = {"nfs", "nfs4", "cifs", "smb3", "smbfs", "ceph", "glusterfs", "fuse.sshfs", "9p"}
LIMITS = ("statement_timeout", "lock_timeout", "idle_in_transaction_session_timeout")
STUCK = timedelta(hours=1)
MIGRATE = "manage.py backup FILE, then manage.py migrate."


def database() -> Iterator[Finding]:
    """Does it answer, and is it one that an acknowledged answer is safe in?"""
    try:
        connection.ensure_connection()
    except DatabaseError as error:
        why = str(error).strip().partition("\n")[0]
        yield fail(f"The database does not answer: {why}", "Start it; check DATABASE_URL.")
        return
    if connection.vendor == "sqlite":
        path = Path(connection.settings_dict["NAME"])
        if kind := network_of(path.resolve(), Path("/proc/self/mounts").read_text()):
            yield fail(
                f"SQLite lies in a network folder ({kind}): its locks do not hold there.",
                "Move it to a disk of this machine; for several machines use PostgreSQL.",
            )
        yield ok(f"SQLite {sqlite3.sqlite_version}, for one machine")
        return
    version = int(_shown("server_version_num"))
    if version < OLDEST_POSTGRESQL:
        yield fail(f"PostgreSQL {version // 10000} is too old.", "Upgrade it to 14 or newer.")
    for name in ("fsync", "full_page_writes", "synchronous_commit"):
        if _shown(name) == "off":
            yield fail(
                f"{name} is off: an answer that was acknowledged can be lost.",
                f"ALTER SYSTEM RESET {name} (or ALTER ROLE ... RESET {name}), then reload it.",
            )
    yield ok(f"PostgreSQL {version // 10000}")


def network_of(path: Path, mounts: str) -> str:
    """The kind of network file system that a file lies in, by /proc/self/mounts; else ""."""
    rows = [line.split()[1:3] for line in mounts.splitlines()]
    within = [(place, kind) for place, kind in rows if path.is_relative_to(place)]
    _place, kind = max(within, key=lambda row: len(row[0]), default=("", ""))
    return kind if kind in NETWORKS else ""


def connection_fits() -> Iterator[Finding]:
    """PgBouncer, and the limits that keep a stuck statement from holding up all others."""
    if connection.vendor == "sqlite":
        yield ok("A file")
        return
    between = _is_behind_a_pooler()
    if between and not settings.DATABASES["default"].get("DISABLE_SERVER_SIDE_CURSORS"):
        yield fail(
            "Connections go through PgBouncer, and server-side cursors are on: pages fail at"
            " random.",
            "Set DISABLE_SERVER_SIDE_CURSORS=1.",
        )
    unset = [name for name in LIMITS if _shown(name) == "0"]
    if unset:
        yield warn(
            f"No limit is set: {', '.join(unset)}.",
            "ALTER ROLE as in docs/operating.md#postgresql.",
        )
    yield ok("Through PgBouncer" if between else "Straight to PostgreSQL")


def _is_behind_a_pooler() -> bool:
    """A pooler makes up the process id that a client is told when it connects."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_backend_pid()")
        return cursor.fetchone()[0] != connection.connection.info.backend_pid


def _shown(name: str) -> str:
    with connection.cursor() as cursor:
        cursor.execute(f"SHOW {name}")
        return cursor.fetchone()[0]


def migrations() -> Iterator[Finding]:
    names = health.not_migrated()
    if names:
        yield fail(f"{len(names)} migrations are not applied, such as {names[0]}.", MIGRATE)
    else:
        yield ok("All applied")


def guarded() -> Iterator[Finding]:
    """The triggers that keep stored answers from being changed."""
    names = guards.missing(connection)
    if names:
        yield fail(
            f"The database no longer protects answers: {len(names)} guards are missing, such as"
            f" {names[0]}.",
            "manage.py migrate puts them back; then find out who disabled them.",
        )
    else:
        yield ok("All stand")


def accounts() -> Iterator[Finding]:
    active = User.objects.filter(is_active=True)
    if not active.exists():
        yield warn(
            "Nobody has an account.", "Open /first-owner/ with the code that the server prints."
        )
    elif not active.filter(is_superuser=True).exists():
        yield warn("No active account is an administrator's.", "manage.py createsuperuser")
    else:
        yield ok(f"{active.count()} active")


def cron() -> Iterator[Finding]:
    """Has `tick` run, lately, and in all its parts well?"""
    rows = {row.name: row for row in PeriodicPart.objects.all()}
    line = "Add the line of docs/operating.md#cron, or start the timer, as the server's user."
    started = [row.started_at for row in rows.values() if row.started_at]
    if not started:
        yield fail("tick has never run: no seat is freed, no mail sent, no platform synced.", line)
        return
    age = database_now() - max(started)
    if age > periodic.OVERDUE:
        yield fail(f"tick last ran {_in_words(age)} ago.", line)
    for name in periodic.all_parts():
        row = rows.get(name)
        if row is None:
            yield warn(f"The part {name} of tick has never run.", "Run manage.py tick.")
        elif row.error:
            yield warn(
                f"The part {name} of tick fails: {row.error}",
                f"manage.py tick {name}; the log has the traceback.",
            )
    yield ok(f"tick last ran {_in_words(age)} ago")


def jobs() -> Iterator[Finding]:
    """Work that failed, or that nobody continues."""
    now = database_now()
    recent = Job.objects.filter(state=Job.State.FAILED, touched_at__gte=now - timedelta(days=7))
    if failed := recent.count():
        newest = recent.latest("touched_at")
        yield warn(
            f"{failed} jobs failed in seven days, the last: {newest.kind}:"
            f" {newest.error.partition(chr(10))[0][:120]}",
            "Its page says more and starts it again.",
        )
    unfinished = Job.objects.filter(state__in=(Job.State.WAITING, Job.State.RUNNING))
    if stuck := unfinished.filter(touched_at__lt=now - STUCK).count():
        yield warn(f"{stuck} jobs have waited for over an hour.", "manage.py tick jobs")
    yield ok(f"{unfinished.count()} unfinished")


def retention() -> Iterator[Finding]:
    """Days of deletion that are over, and nothing was deleted."""
    today = database_now().date()
    days = Study.objects.order_by("pk").values_list("name", "identities_until", "answers_until")
    due = [
        f"{name}: {what} to be deleted after {day}."
        for name, of_identities, of_study in days
        for what, day in (("ids of annotators were", of_identities), ("it was", of_study))
        if day is not None and day < today
    ]
    for overdue in due:
        yield warn(overdue, "manage.py purge_identities --due says what it waits for.")
    if not due:
        yield ok("Nothing is overdue")


def _in_words(age: timedelta) -> str:
    minutes = int(age.total_seconds() // 60)
    if minutes < 120:
        return f"{minutes} min"
    return f"{minutes // 60} h" if minutes < 2880 else f"{minutes // 1440} days"
