"""Jobs for work that takes longer than a request. Their progress is stored in rows.

A job consists of numbered chunks, which run one after another. Each poll by the waiting page (or
`manage.py run_jobs`) runs chunks for about a second and stores their results. Without a queue, a
job advances when a poll, `run_jobs` or `tick` runs it. With a queue (config/celery.py), the poll
enqueues the next chunk for a worker.

A chunk is leased before it runs, using a single conditional update, so that only one of two
simultaneous polls runs it. The lease lasts half a minute and is renewed while the chunk runs, up to
the limit of its kind. If a process is killed, the chunk runs again once its lease has expired, so
chunks must be idempotent and finish within the limit of their kind.
"""

import contextlib
import hashlib
import logging
import secrets
import shutil
import threading
import time
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

from django.conf import settings
from django.db import DatabaseError, connection, transaction
from django.db.models import F, Q, QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django_htmx.http import HttpResponseClientRedirect, HttpResponseClientRefresh
from django_htmx.middleware import HtmxDetails

from tasks import checking, disk
from tasks.clock import database_now
from tasks.formats import canonical
from tasks.models import Job

logger = logging.getLogger(__name__)

POLL = 1.0  # seconds that a request spends on a job
LEASE = timedelta(seconds=30)  # duration of a lease that is not renewed
BEAT = 10.0  # seconds between renewals
MAX_ATTEMPTS = 3  # for a chunk whose process is killed every time
RESEND = timedelta(minutes=1)  # time in the queue after which a chunk is enqueued again


class QueueAway(Exception):
    """Raised if the queue does not respond."""


# Enqueues a chunk of the job with this key; None without a queue. Raises QueueAway.
send: Callable[[int, int], None] | None = None


class JobError(Exception):
    """Raised if a chunk fails. The message gives the cause and advice."""


# The function that runs a chunk, and the longest time its lease can be renewed.
KINDS: dict[str, tuple[Callable[[Job, int], Any], timedelta]] = {}
# Modules to import with the first chunk, because pandas would slow down every command.
MODULES: dict[str, str] = {}


def known_kinds() -> set[str]:
    return KINDS.keys() | MODULES.keys()


def job(name: str, limit: timedelta = timedelta(minutes=2)) -> Callable[..., Any]:
    """Register `chunk(job, number)`, with 0-based numbers, for jobs of this kind.

    Apps import the modules that call this, or list them in MODULES, so that all processes know
    them. A chunk returns a small JSON value, and stores its files in `folder_of(job)`.
    """

    def register(chunk: Callable[[Job, int], Any]) -> Callable[[Job, int], Any]:
        KINDS[name] = (chunk, limit)
        return chunk

    return register


# Checks that `manage.py run_jobs` makes first. They raise CommandError.
CONDITIONS: list[Callable[[], None]] = []

OPEN = Q(state__in=(Job.State.WAITING, Job.State.RUNNING))


def key_of(kind: str, parameters: dict[str, Any], seed: int = 0) -> str:
    """Return the SHA-256 of kind, parameters and seed, so that equal work has equal keys."""
    return hashlib.sha256(canonical([kind, parameters, seed])).hexdigest()


def find(kind: str, parameters: dict[str, Any], seed: int = 0) -> Job | None:
    # Results can be large, and most pages only need the state.
    return Job.objects.filter(key=key_of(kind, parameters, seed)).defer("result").first()


def start(
    kind: str, parameters: dict[str, Any], *, total: int, owner: Any, seed: int = 0, **fields: Any
) -> Job:
    """Return the job for this exact work, or create one in state waiting or that in `fields`."""
    values = {"kind": kind, "parameters": parameters, "seed": seed, "total": total, "owner": owner}
    key = key_of(kind, parameters, seed)
    return Job.objects.get_or_create(key=key, defaults=values | fields)[0]


def folder_of(job: Job) -> Path:
    """Return the folder for the job's files, which is created by the first chunk that needs it."""
    return _root() / str(job.pk)


def _root() -> Path:
    return Path(settings.VAR_DIR) / "jobs"


def drop(dropped: QuerySet[Job]) -> None:
    """Delete these jobs and their files. Chunks still running won't store anything any more."""
    folders = [folder_of(job) for job in dropped]
    dropped.delete()
    for folder in folders:
        transaction.on_commit(partial(shutil.rmtree, folder, ignore_errors=True))


def sweep() -> None:
    disk.sweep(_root(), Job.objects.all())


def retry(job: Job) -> None:
    Job.objects.filter(pk=job.pk, state=Job.State.FAILED).update(
        state=Job.State.WAITING, error="", touched_at=database_now(), attempts=0, sent_at=None
    )
    job.refresh_from_db()


def advance(job: Job) -> None:
    """Enqueue the next chunk or, without a queue, run chunks for about a second.

    At least one chunk runs, unless its lease is taken. `job` is refreshed with the outcome.
    """
    if send is not None:
        _enqueue(job, send)
        return
    end = time.monotonic() + POLL
    while run_chunk(job) and time.monotonic() < end:
        pass


def _enqueue(job: Job, send: Callable[[int, int], None]) -> None:
    """Enqueue the next chunk, unless it is already running or enqueued.

    The time is stored in the row, so that polls don't enqueue it repeatedly. A later poll or tick
    enqueues it again if the message was lost or its worker was killed. If the queue doesn't
    respond, `job.queue_is_away` is set and the chunk waits.
    """
    if job.is_done or job.has_failed:
        return
    now, row = database_now(), Job.objects.filter(pk=job.pk, done=job.done)
    free = Q(leased_until=None) & (Q(sent_at=None) | Q(sent_at__lt=now - RESEND))
    abandoned = Q(leased_until__lt=now) & (Q(sent_at__lt=F("leased_until")) | Q(sent_at=None))
    if not row.filter(free | abandoned).update(sent_at=now):
        return
    try:
        send(job.pk, job.done)
    except QueueAway:
        row.update(sent_at=None)
        job.queue_is_away = True


def run_chunk(job: Job, number: int | None = None) -> bool:
    """Run the next or given chunk. Return whether the chunk after it can run now."""
    try:
        goes_on = _run_chunk(job, number)
        job.refresh_from_db()
        return goes_on
    except Job.DoesNotExist:
        shutil.rmtree(folder_of(job), ignore_errors=True)
        return False


def _run_chunk(job: Job, number: int | None) -> bool:
    job.refresh_from_db()
    if number not in (None, job.done) or not take_lease(job):
        return False
    try:
        part = _result_of_chunk(job)
    except checking.Busy:
        _give_back(job, Job.State.WAITING)
        return False
    except Exception as error:
        if not isinstance(error, JobError) and not disk.is_full(error):
            logger.exception("%s failed", job)
        _give_back(job, Job.State.FAILED, attempts=job.attempts, error=_error_message(error))
        return False
    except BaseException:
        # Interrupted (Ctrl+C): end the lease, so that the next process doesn't have to wait.
        _give_back(job, Job.State.WAITING)
        raise
    is_last = job.done + 1 == job.total
    state = Job.State.DONE if is_last else Job.State.RUNNING
    is_stored = _give_back(job, state, done=F("done") + 1, result=[*job.result, part])
    return is_stored and not is_last


def _result_of_chunk(job: Job) -> Any:
    if job.attempts > MAX_ATTEMPTS:
        raise JobError(
            f"Part {job.done + 1} was started {MAX_ATTEMPTS} times but never finished, because its"
            " process was stopped or it takes too long. Check the server's memory, then try again."
        )
    if job.kind not in KINDS:
        import_module(MODULES[job.kind])
    chunk, limit = KINDS[job.kind]
    with _renewed(job, limit):
        return chunk(job, job.done)


def _leased(job: Job) -> QuerySet[Job]:
    """Return the row if it still has this lease. An expired lease may have been taken over."""
    return Job.objects.filter(pk=job.pk, lease=job.lease)


def _give_back(job: Job, state: str, attempts: int = 0, **changes: Any) -> bool:
    """Release the lease and store the changes. Return False if the lease was lost."""
    ended = {"attempts": attempts, "lease": "", "leased_until": None, "sent_at": None}
    return bool(_leased(job).update(**ended, state=state, touched_at=database_now(), **changes))


@contextlib.contextmanager
def _renewed(job: Job, limit: timedelta) -> Iterator[None]:
    """Renew the lease during the block, from a thread with a separate connection."""
    ended = threading.Event()

    def beat() -> None:
        last = time.monotonic() + limit.total_seconds()
        try:
            while not ended.wait(BEAT) and time.monotonic() < last:
                # If the database is unavailable, try again at the next beat.
                with contextlib.suppress(DatabaseError):
                    _leased(job).update(leased_until=database_now() + LEASE)
        finally:
            connection.close()

    thread = threading.Thread(target=beat, name=f"lease on job {job.pk}", daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


def take_lease(job: Job) -> str:
    """Lease the next chunk. Return the lease, or "" if no chunk is free."""
    lease, now = secrets.token_hex(16), database_now()
    leased = Job.objects.filter(OPEN & free_at(now), pk=job.pk, done=job.done).update(
        state=Job.State.RUNNING,
        lease=lease,
        leased_until=now + LEASE,
        attempts=F("attempts") + 1,
        touched_at=now,
    )
    job.refresh_from_db()
    return lease if leased and job.lease == lease else ""


def free_at(now: datetime) -> Q:
    return Q(leased_until=None) | Q(leased_until__lt=now)


def _error_message(error: Exception) -> str:
    if isinstance(error, JobError):
        return str(error)
    if disk.is_full(error):
        return disk.full_message()
    return (
        f"An unexpected error occurred ({type(error).__name__}). Try again; if it happens"
        " again, see the server's log."
    )


def poll(request: HttpRequest, job: Job, address: str) -> HttpResponse:
    """Advance the job and return its progress. Once it finishes, the browser reloads.

    `address` is the URL of the page. Without JavaScript, a button polls and redirects to the page.
    """
    if "again" in request.POST:
        retry(job)
    advance(job)
    if not HtmxDetails(request):
        return redirect(address)
    if job.is_done or job.has_failed:
        return HttpResponseClientRefresh()
    context = {"job": job, "job_address": request.get_full_path(), "has_queue": send is not None}
    return render(request, "web/_job_progress.html", context)


def go_to(request: HttpRequest, address: str) -> HttpResponse:
    return HttpResponseClientRedirect(address) if HtmxDetails(request) else redirect(address)
