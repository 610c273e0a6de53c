"""Work that takes longer than a request: a row stores the progress, and each poll runs chunks.

A job is cut into numbered chunks, done one after the other; a kind may say that some of them run
together. Each poll of the page that waits for it (or `manage.py run_jobs`) runs chunks for about a
second and stores what they gave. Without a queue, a job that nobody looks at waits. With one
(config/celery.py) the poll sends word of the chunks to its workers, and they run them.

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

from tasks import checking, disk, job_queue
from tasks.clock import database_now
from tasks.formats import canonical
from tasks.models import Job, JobChunk

logger = logging.getLogger(__name__)

POLL = 1.0  # seconds that one request works on a job
LEASE = timedelta(seconds=30)  # that a lease is believed without being renewed
BEAT = 10.0  # seconds between two renewals
MAX_ATTEMPTS = 3  # of one chunk whose process was killed each time


class JobError(Exception):
    """A chunk cannot be done: a sentence that says what is wrong and what to do."""


@dataclass(frozen=True)
class JobKind:
    """How one chunk of such a job is done, and for how long its lease is renewed at most.

    `together` gives the numbers of the chunks that need what came before, but nothing of each
    other.
    """

    chunk: Callable[[Job, int], Any]
    limit: timedelta
    together: Callable[[Job], range] = lambda job: range(0)


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


def job(
    name: str,
    limit: timedelta = timedelta(minutes=2),
    together: Callable[[Job], range] = JobKind.together,
) -> Callable[..., Any]:
    """Register `chunk(job, number)`, number from 0, as what jobs of that kind consist of.

    Apps import the modules that do this when they are ready, or name them in MODULES, so every
    process knows each kind.
    It returns something small that JSON can hold; files that it makes lie in `folder_of(job)`.
    """

    def register(chunk: Callable[[Job, int], Any]) -> Callable[[Job, int], Any]:
        KINDS[name] = JobKind(chunk, limit, together)
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
    """Let a failed job go on with the chunks that failed."""
    fresh = {"attempts": 0, "sent_at": None}
    Job.objects.filter(pk=job.pk, state=Job.State.FAILED).update(
        state=Job.State.WAITING, error="", touched_at=database_now(), **fresh
    )
    job.chunks.filter(lease="").update(**fresh)
    job.refresh_from_db()


def advance(job: Job) -> None:
    """Send word of its chunks to the workers, or run some for about a second where there are none.

    At least one, unless somebody else is at it. Whatever comes of it stands in the row, which is
    read again.
    """
    if job_queue.send is not None:
        job_queue.hand_out(job, ready(job), together=is_together(job))
        return
    end = time.monotonic() + POLL
    while run_chunk(job) and time.monotonic() < end:
        pass


def ready(job: Job) -> range:
    """The numbers of the chunks whose turn it is: the next one, or those that run together."""
    first = len(job.result)
    return range(first, _kind_of(job).together(job).stop if is_together(job) else first + 1)


def is_together(job: Job) -> bool:
    """Are these chunks that run together, each with a row of its own?"""
    return len(job.result) in _kind_of(job).together(job)


def run_chunk(job: Job, number: int | None = None) -> bool:
    """Run the next chunk that is free, or that one; False where there is nothing more to run now.

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
    held = _take(job, number)
    if held is None:
        return False
    try:
        part = _result_of_chunk(job, held)
    except checking.Busy:
        _give_back(held, Job.State.WAITING)
        return False
    except Exception as error:
        if not isinstance(error, JobError) and not disk.is_full(error):
            logger.exception("%s failed", job)
        _give_back(held, Job.State.FAILED, attempts=held.attempts, error=_sentence(error))
        return False
    except BaseException:
        # Stopped from outside (Ctrl+C): whoever comes next need not wait for the lease to run out.
        _give_back(held, Job.State.WAITING)
        raise
    if isinstance(held, JobChunk):
        return store_beside_others(held, part)
    is_last = job.done + 1 == job.total
    state = Job.State.DONE if is_last else Job.State.RUNNING
    is_stored = _give_back(job, state, done=F("done") + 1, result=[*job.result, part])
    return is_stored and not is_last


def _take(job: Job, number: int | None) -> Job | JobChunk | None:
    """Lease the next free chunk whose turn it is, or that one: the row that has the lease.

    That is the job itself, or the row of one of the chunks that run together.
    """
    job.refresh_from_db()
    numbers = ready(job)
    if number is not None and number not in numbers:
        return None
    if not is_together(job):
        return job if take_lease(job) else None
    if job.is_done or job.has_failed:
        return None
    over = set(job.chunks.filter(is_done=True).values_list("number", flat=True))
    for candidate in numbers if number is None else [number]:
        if candidate not in over and (chunk := take_chunk(job, candidate)):
            return chunk
    return None


def _result_of_chunk(job: Job, held: Job | JobChunk) -> Any:
    number = held.number if isinstance(held, JobChunk) else job.done
    if held.attempts > MAX_ATTEMPTS:
        raise JobError(
            f"Part {number + 1} was begun {MAX_ATTEMPTS} times and never finished: its process"
            " was stopped each time, or it takes too long. Check the server's memory, then try"
            " again."
        )
    kind = _kind_of(job)
    with _renewed(job, held, kind.limit):
        return kind.chunk(job, number)


def _own(held: Job | JobChunk) -> QuerySet[Any]:
    """The row, as long as it has this lease: others have the chunk once it ran out."""
    return type(held)._default_manager.filter(pk=held.pk, lease=held.lease)


def _give_back(held: Job | JobChunk, state: str, attempts: int = 0, **changes: Any) -> bool:
    """End the lease and store what has changed of the job; False where the lease ran out."""
    ended = {"attempts": attempts, "lease": "", "leased_until": None, "sent_at": None}
    of_job = {"state": state, "touched_at": database_now(), **changes}
    if isinstance(held, Job):
        return bool(_own(held).update(**ended, **of_job))
    is_ended = bool(_own(held).update(**ended))
    # One of several: the job waits only where none of the others is at work.
    others = held.job.chunks.exclude(lease="")
    if is_ended and (state == Job.State.FAILED or not others.exists()):
        Job.objects.filter(OPEN, pk=held.job_id).update(**of_job)
    return is_ended


def store_beside_others(chunk: JobChunk, part: Any) -> bool:
    """Store what it gave; the last of those that run together moves all of it into the job."""
    with transaction.atomic():
        job = Job.objects.select_for_update().get(pk=chunk.job_id)
        if not _own(chunk).update(
            is_done=True, result=part, lease="", leased_until=None, sent_at=None
        ):
            return False
        numbers = ready(job)
        ended = job.chunks.filter(is_done=True, number__in=numbers).order_by("number")
        parts = list(ended.values_list("result", flat=True))
        job.done = numbers.start + len(parts)
        if len(parts) == len(numbers):
            job.result = [*job.result, *parts]
            ended.update(result=None)
        if job.done == job.total:
            job.state = Job.State.DONE
        job.touched_at = database_now()
        job.save(update_fields=["done", "result", "state", "touched_at"])
    return not job.is_done


@contextlib.contextmanager
def _renewed(job: Job, held: Job | JobChunk, limit: timedelta) -> Iterator[None]:
    """Renew the lease meanwhile, from a thread with a connection of its own."""
    ended = threading.Event()

    def beat() -> None:
        last = time.monotonic() + limit.total_seconds()
        try:
            while not ended.wait(BEAT) and time.monotonic() < last:
                # A database that cannot be asked now is asked again at the next beat.
                with contextlib.suppress(DatabaseError):
                    _own(held).update(leased_until=database_now() + LEASE)
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


def take_chunk(job: Job, number: int) -> JobChunk | None:
    """Take one of the chunks that run together; None where it is taken or done."""
    lease, now = secrets.token_hex(16), database_now()
    chunk, _made = JobChunk.objects.get_or_create(job_id=job.pk, number=number)
    leased = JobChunk.objects.filter(free_at(now), pk=chunk.pk, is_done=False).update(
        lease=lease, leased_until=now + LEASE, attempts=F("attempts") + 1
    )
    if not leased:
        return None
    Job.objects.filter(OPEN, pk=job.pk).update(state=Job.State.RUNNING, touched_at=now)
    chunk.refresh_from_db()
    return chunk if chunk.lease == lease else None


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
