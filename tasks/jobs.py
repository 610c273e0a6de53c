"""Work that takes longer than a request: a row stores the progress, and each poll runs chunks.

A job is cut into numbered chunks, done one after the other. Each poll of the page that waits for it
(or `manage.py run_jobs`) runs chunks for about a second and stores what they gave. Without a queue,
a job that nobody looks at waits. With one (config/celery.py) the poll sends word of the next chunk
to its workers, and they run it.

A chunk is leased before it is run, by one conditional update, so that of two polls at once only
one runs it. The lease holds for half a minute and is renewed while the chunk is run, up to its
kind's limit. A killed process leaves its lease behind; when that runs out, the chunk is taken up
again. So a chunk must give the same when it is run again, and must end within its kind's limit.
"""

import contextlib
import hashlib
import logging
import secrets
import shutil
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

from django.conf import settings
from django.db import DatabaseError, connection, transaction
from django.db.models import F, Q, QuerySet

from tasks import checking, disk
from tasks.clock import database_now
from tasks.formats import canonical
from tasks.models import Job

logger = logging.getLogger(__name__)

POLL = 1.0  # seconds that one request works on a job
LEASE = timedelta(seconds=30)  # that a lease is believed without being renewed
BEAT = 10.0  # seconds between two renewals
MAX_ATTEMPTS = 3  # of one chunk whose process was killed each time
RESEND = timedelta(minutes=1)  # that a chunk waits in the queue before word of it is sent again


class QueueAway(Exception):
    """The queue does not answer."""


# Sends the number of a chunk of the job with this key; None where there is no queue. QueueAway.
send: Callable[[int, int], None] | None = None


class JobError(Exception):
    """A chunk cannot be done: a sentence that says what is wrong and what to do."""


@dataclass(frozen=True)
class JobKind:
    """How one chunk of such a job is done, and for how long its lease is renewed at most."""

    chunk: Callable[[Job, int], Any]
    limit: timedelta


KINDS: dict[str, JobKind] = {}
# Kinds whose module is imported with their first chunk: pandas would slow down every command.
MODULES: dict[str, str] = {}


def known() -> set[str]:
    """The names of all kinds of jobs."""
    return KINDS.keys() | MODULES.keys()


def _kind_of(job: Job) -> JobKind:
    if job.kind not in KINDS:
        import_module(MODULES[job.kind])
    return KINDS[job.kind]


def job(name: str, limit: timedelta = timedelta(minutes=2)) -> Callable[..., Any]:
    """Register `chunk(job, number)`, number from 0, as what jobs of that kind consist of.

    Apps import the modules that do this when they are ready, or name them in MODULES, so every
    process knows each kind.
    It returns something small that JSON can hold; files that it makes lie in `folder_of(job)`.
    """

    def register(chunk: Callable[[Job, int], Any]) -> Callable[[Job, int], Any]:
        KINDS[name] = JobKind(chunk, limit)
        return chunk

    return register


# What `manage.py run_jobs` calls before it does anything: a CommandError stops it.
CONDITIONS: list[Callable[[], None]] = []

OPEN = Q(state__in=(Job.State.WAITING, Job.State.RUNNING))


def key_of(kind: str, parameters: dict[str, Any], seed: int = 0) -> str:
    """SHA-256 of what the work is: the same work has the same key."""
    return hashlib.sha256(canonical([kind, parameters, seed])).hexdigest()


def find(kind: str, parameters: dict[str, Any], seed: int = 0) -> Job | None:
    """The job of exactly this work, if anybody has asked for it."""
    return Job.objects.filter(key=key_of(kind, parameters, seed)).first()


def start(kind: str, parameters: dict[str, Any], *, total: int, owner: Any, seed: int = 0) -> Job:
    """The job of exactly this work: the one that is there, or a new one that waits."""
    job, _made = Job.objects.get_or_create(
        key=key_of(kind, parameters, seed),
        defaults={
            "kind": kind, "parameters": parameters, "seed": seed, "total": total, "owner": owner,
        },
    )  # fmt: skip
    return job


def record(kind: str, parameters: dict[str, Any], *, result: list[Any], owner: Any) -> Job:
    """The job of work that was done elsewhere: `result` is what each of its chunks gives."""
    made = {"kind": kind, "parameters": parameters, "owner": owner, "total": len(result)}
    outcome = {"state": Job.State.DONE, "done": len(result), "result": result}
    job, _made = Job.objects.get_or_create(
        key=key_of(kind, parameters, 0), defaults={**made, **outcome}
    )
    return job


def folder_of(job: Job) -> Path:
    """Where a job's chunks put their files; made by the first that needs it."""
    return _root() / str(job.pk)


def _root() -> Path:
    return Path(settings.VAR_DIR) / "jobs"


def drop(dropped: QuerySet[Job]) -> None:
    """Forget these jobs and their files. A chunk that is being run stores nothing any more."""
    folders = [folder_of(job) for job in dropped]
    dropped.delete()
    for folder in folders:
        transaction.on_commit(partial(shutil.rmtree, folder, ignore_errors=True))


def sweep() -> None:
    """Delete the files of jobs that are not there any more.

    Not those of the last hour: whoever makes a job with its files may not have committed its row.
    """
    known = {str(pk) for pk in Job.objects.values_list("pk", flat=True)}
    for folder in _root().iterdir() if _root().is_dir() else ():
        with contextlib.suppress(FileNotFoundError):  # another sweep was there first
            if folder.name not in known and folder.stat().st_mtime < time.time() - 3600:
                shutil.rmtree(folder, ignore_errors=True)


def retry(job: Job) -> None:
    """Let a failed job go on with the chunk that failed."""
    Job.objects.filter(pk=job.pk, state=Job.State.FAILED).update(
        state=Job.State.WAITING, error="", touched_at=database_now(), attempts=0, sent_at=None
    )
    job.refresh_from_db()


def advance(job: Job) -> None:
    """Send word of its next chunk to the workers, or run some for a second where there are none.

    At least one, unless somebody else is at it. Whatever comes of it stands in the row, which is
    read again.
    """
    if send is not None:
        _send_word(job, send)
        return
    end = time.monotonic() + POLL
    while run_chunk(job) and time.monotonic() < end:
        pass


def _send_word(job: Job, send: Callable[[int, int], None]) -> None:
    """Send word of the next chunk, unless it is at work or was sent already.

    That it was sent stands in the row, so that polls do not send it again and again; one that was
    lost, or whose worker was killed, is sent once more by a later poll or tick. Where the queue
    does not answer, `job.queue_is_away` says so, and the chunk waits.
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
    """Run the next chunk if it is free, or that one; False where there is nothing to run now.

    That is also so where the job was deleted meanwhile: nobody wants it nor its files any more.
    """
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
        _give_back(job, Job.State.FAILED, attempts=job.attempts, error=_sentence(error))
        return False
    except BaseException:
        # Stopped from outside (Ctrl+C): whoever comes next need not wait for the lease to run out.
        _give_back(job, Job.State.WAITING)
        raise
    is_last = job.done + 1 == job.total
    state = Job.State.DONE if is_last else Job.State.RUNNING
    is_stored = _give_back(job, state, done=F("done") + 1, result=[*job.result, part])
    return is_stored and not is_last


def _result_of_chunk(job: Job) -> Any:
    if job.attempts > MAX_ATTEMPTS:
        raise JobError(
            f"Part {job.done + 1} was begun {MAX_ATTEMPTS} times and never finished: its process"
            " was stopped each time, or it takes too long. Check the server's memory, then try"
            " again."
        )
    kind = _kind_of(job)
    with _renewed(job, kind.limit):
        return kind.chunk(job, job.done)


def _own(job: Job) -> QuerySet[Job]:
    """The row, as long as it has this lease: others have the chunk once it ran out."""
    return Job.objects.filter(pk=job.pk, lease=job.lease)


def _give_back(job: Job, state: str, attempts: int = 0, **changes: Any) -> bool:
    """End the lease and store what has changed of the job; False where the lease ran out."""
    ended = {"attempts": attempts, "lease": "", "leased_until": None, "sent_at": None}
    return bool(_own(job).update(**ended, state=state, touched_at=database_now(), **changes))


@contextlib.contextmanager
def _renewed(job: Job, limit: timedelta) -> Iterator[None]:
    """Renew the lease meanwhile, from a thread with a connection of its own."""
    ended = threading.Event()

    def beat() -> None:
        last = time.monotonic() + limit.total_seconds()
        try:
            while not ended.wait(BEAT) and time.monotonic() < last:
                # A database that cannot be asked now is asked again at the next beat.
                with contextlib.suppress(DatabaseError):
                    _own(job).update(leased_until=database_now() + LEASE)
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
    """Take the next chunk; the name of the lease, or "" where it is taken or there is none."""
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
    """Nobody is at it, or nobody can be any more."""
    return Q(leased_until=None) | Q(leased_until__lt=now)


def _sentence(error: Exception) -> str:
    if isinstance(error, JobError):
        return str(error)
    if disk.is_full(error):
        return disk.sentence()
    return (
        f"An unexpected error occurred ({type(error).__name__}). Try again; if it happens"
        " again, see the server's log."
    )
