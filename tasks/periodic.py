"""Periodic work, part by part: each runs on one node at a time, and one that fails stops no other.

A part is taken under the lock of its row and given back when it ends. Whoever takes it is believed
for the part's limit: a process that was killed holds it up no longer. Each part may be run again at
any time and by hand, since it does what is due and nothing twice.
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
    """What each tick does: run all of them, or send the workers word of their chunks."""
    if jobs.send is None:
        return run_all_jobs()
    waiting = Job.objects.filter(jobs.OPEN, kind__in=jobs.known())
    for job in waiting:
        jobs.advance(job)
        if job.queue_is_away:
            raise JobError(f"The queue does not answer: {len(waiting)} jobs wait for it.")
    return f"{len(waiting)} jobs are with the workers"


def run_all_jobs(tell: Callable[[str], Any] = str) -> str:
    """Run all waiting jobs to their ends, but those that run elsewhere; `tell` hears of each part.

    One whose process was killed is resumed within half a minute. Raises JobError where one failed.
    """
    failed = ended = 0
    for job in Job.objects.filter(jobs.OPEN, kind__in=jobs.known()):
        while jobs.run_chunk(job) or wait_for_lease(job):
            tell(str(job))
        tell(f"{job}, {job.state}" + (f": {job.error}" if job.error else ""))
        failed += job.has_failed
        ended += job.is_done
    if failed:
        raise JobError(f"{failed} failed. Their pages say what to do.")
    return f"{ended} jobs ended"


def wait_for_lease(job: Job) -> bool:
    """Is the chunk free once the lease that it has now has run out?

    False where it is renewed, which a killed process cannot. Waits for half a minute at most.
    """
    held = _lease(job)
    if held is None:
        return False
    while _lease(job) == held and database_now() <= held[1]:
        time.sleep(1)
    return _lease(job) in (None, held)


def _lease(job: Job) -> tuple[str, Any] | None:
    """The lease on its chunk, and until when it is believed."""
    leased = Job.objects.filter(pk=job.pk).exclude(leased_until=None)
    return leased.values_list("lease", "leased_until").first()


logger = logging.getLogger(__name__)

# Without a run for so long, cron is taken to be off.
OVERDUE = timedelta(minutes=15)


@dataclass(frozen=True)
class Part:
    """What is done, for how long a run is believed to be at work, and how often it is begun."""

    run: Callable[[], Any]
    limit: timedelta = timedelta(minutes=10)
    every: timedelta = timedelta()  # at most so often


# In their order, LAST after them; the apps above add theirs when they are ready (apps.py).
PARTS: dict[str, Part] = {
    "uploads": Part(uploads.drop_old),
    "job files": Part(jobs.sweep),
}
LAST: dict[str, Part] = {"jobs": Part(advance_jobs, limit=timedelta(hours=1))}

# What `run_jobs` does besides: all that asks no other server but for webhooks.
AFTER_JOBS = {"uploads", "job files", "seats", "webhooks", "notices", "mail"}


@dataclass(frozen=True)
class Outcome:
    """`state` is done, failed or left (not due, or another process is at it)."""

    name: str
    state: str
    said: str


def tick(names: set[str] | None = None) -> Iterator[Outcome]:
    """Run these parts, or all, one after the other; what came of each."""
    for name, part in all_parts().items():
        if names is None or name in names:
            yield _run(name, part)


def all_parts() -> dict[str, Part]:
    """By name, in the order in which they are run."""
    return PARTS | LAST


def _run(name: str, part: Part) -> Outcome:
    if reason := take(name, part):
        return Outcome(name, "left", reason)
    began = PeriodicPart.objects.values_list("started_at", flat=True).get(name=name)
    try:
        done = part.run()
    except Exception as error:
        logger.exception("The periodic part %s failed", name)
        # The first line: PostgreSQL adds the whole row to its errors.
        said = f"{type(error).__name__}: {str(error).partition(chr(10))[0]}"[:300]
        _give_back(name, began, error=said)
        return Outcome(name, "failed", said)
    except BaseException:
        _give_back(name, began, error="stopped from outside")
        raise
    said = "done" if done is None else str(done)[:300]
    _give_back(name, began, said=said, error="", succeeded_at=database_now())
    return Outcome(name, "done", said)


def take(name: str, part: Part) -> str:
    """Take this part, or say why not; of two processes at once one waits at the row."""
    PeriodicPart.objects.get_or_create(name=name)
    with transaction.atomic():
        row = PeriodicPart.objects.select_for_update().get(name=name)
        now = database_now()
        if row.busy_until is not None and row.busy_until > now:
            return "another process is at it"
        if row.started_at is not None and now < row.started_at + part.every:
            return "not due yet"
        row.busy_until, row.started_at = now + part.limit, now
        row.save(update_fields=["busy_until", "started_at"])
    return ""


def _give_back(name: str, began: datetime | None, **outcome: Any) -> None:
    """Not where it took longer than its limit: the part may be another's by now."""
    row = PeriodicPart.objects.filter(name=name, started_at=began)
    row.update(busy_until=None, ended_at=database_now(), **outcome)


def is_overdue() -> bool:
    """Has no part run for so long that cron seems to be off?"""
    since = database_now() - OVERDUE
    return not PeriodicPart.objects.filter(started_at__gte=since).exists()
