"""Periodic work, divided into parts. If one part fails, the others still run.

Each part runs on only one node at a time. Its row is locked until it ends or its time limit passes,
so a killed process does not block it for long. Each part does only what is due, so it can be run
again at any time, including manually.
"""

import logging
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.db import transaction

from tasks import jobs, uploads
from tasks.clock import database_now
from tasks.jobs import JobError
from tasks.models import Job, PeriodicPart


def advance_jobs() -> str:
    if jobs.send is None:
        return run_all_jobs()
    waiting = Job.objects.filter(jobs.OPEN, kind__in=jobs.known_kinds())
    for job in waiting:
        jobs.advance(job)
        if job.queue_is_away:
            raise JobError(f"The queue does not respond. {len(waiting)} jobs are waiting.")
    return f"{len(waiting)} jobs are with the workers"


def run_all_jobs(tell: Callable[[str], Any] = str) -> str:
    """Run all waiting jobs to the end, unless they run elsewhere. Raises JobError if any failed."""
    failed = ended = 0
    for job in Job.objects.filter(jobs.OPEN, kind__in=jobs.known_kinds()):
        while jobs.run_chunk(job) or wait_for_lease(job):
            tell(str(job))
        tell(f"{job}, {job.state}" + (f": {job.error}" if job.error else ""))
        failed += job.has_failed
        ended += job.is_done
    if failed:
        raise JobError(f"{failed} failed. See their pages.")
    return f"{ended} jobs ended"


def wait_for_lease(job: Job) -> bool:
    """Wait up to half a minute for the lease. Return False if its process renews it."""
    lease = _lease(job)
    if lease is None:
        return False
    while _lease(job) == lease and database_now() <= lease[1]:
        time.sleep(1)
    return _lease(job) in (None, lease)


def _lease(job: Job) -> tuple[str, Any] | None:
    """Return the lease on the next chunk, and when it expires."""
    leased = Job.objects.filter(pk=job.pk).exclude(leased_until=None)
    return leased.values_list("lease", "leased_until").first()


logger = logging.getLogger(__name__)

# If nothing has run for this long, cron is assumed to be off.
OVERDUE = timedelta(minutes=15)


@dataclass(frozen=True)
class Part:
    """A periodic function, the time limit of its lock, and the minimum time between runs."""

    run: Callable[[], Any]
    limit: timedelta = timedelta(minutes=10)
    interval: timedelta = timedelta()  # minimum time between runs


# The order in which parts run, before LAST. Other apps add their parts in apps.py.
PARTS: dict[str, Part] = {"uploads": Part(uploads.drop_old), "job files": Part(jobs.sweep)}
LAST: dict[str, Part] = {"jobs": Part(advance_jobs, limit=timedelta(hours=1))}

# Parts that `run_jobs` also runs. Except for webhooks and email, they contact no servers.
AFTER_JOBS = {"uploads", "job files", "seats", "webhooks", "notices", "mail"}


@dataclass(frozen=True)
class Outcome:
    """The outcome of a part: done, failed or left (not due, or run by another process)."""

    name: str
    state: str
    message: str


def tick(names: set[str] | None = None) -> Iterator[Outcome]:
    """Run these parts, by default all of them, in order, and yield the outcomes."""
    for name, part in all_parts().items():
        if names is None or name in names:
            yield _run(name, part)


def all_parts() -> dict[str, Part]:
    return PARTS | LAST


def _run(name: str, part: Part) -> Outcome:
    if reason := take(name, part):
        return Outcome(name, "left", reason)
    began = PeriodicPart.objects.values_list("started_at", flat=True).get(name=name)
    try:
        result = part.run()
    except Exception as error:
        logger.exception("The periodic part %s failed", name)
        # Use only the first line, because PostgreSQL adds the entire row to its errors.
        message = f"{type(error).__name__}: {str(error).partition(chr(10))[0]}"[:300]
        _give_back(name, began, error=message)
        return Outcome(name, "failed", message)
    except BaseException:
        _give_back(name, began, error="stopped from outside")
        raise
    message = "done" if result is None else str(result)[:300]
    _give_back(name, began, message=message, error="", succeeded_at=database_now())
    return Outcome(name, "done", message)


def take(name: str, part: Part) -> str:
    """Lock this part, or return why it cannot be locked. Concurrent processes wait for the row."""
    PeriodicPart.objects.get_or_create(name=name)
    with transaction.atomic():
        row = PeriodicPart.objects.select_for_update().get(name=name)
        now = database_now()
        if row.busy_until is not None and row.busy_until > now:
            return "another process is running it"
        if row.started_at is not None and now < row.started_at + part.interval:
            return "not due yet"
        row.busy_until, row.started_at = now + part.limit, now
        row.save(update_fields=["busy_until", "started_at"])
    return ""


def _give_back(name: str, began: datetime | None, **outcome: Any) -> None:
    """Unlock the part, unless its limit has passed and another process may have the lock."""
    row = PeriodicPart.objects.filter(name=name, started_at=began)
    row.update(busy_until=None, ended_at=database_now(), **outcome)


def is_overdue() -> bool:
    since = database_now() - OVERDUE
    return not PeriodicPart.objects.filter(started_at__gte=since).exists()
