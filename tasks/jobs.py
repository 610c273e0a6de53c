"""Work that takes longer than a request: a row stores the progress, and each poll runs chunks.

A job is cut into numbered chunks, done one after the other. Each poll of the page that waits for it
(or `manage.py run_jobs`) runs chunks for about a second and stores what they gave. There is no
queue server: a job that nobody looks at waits.

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
        state=Job.State.WAITING, error="", attempts=0, touched_at=database_now()
    )
    job.refresh_from_db()


def advance(job: Job) -> None:
    """Run chunks for about a second, at least one unless somebody else is at it.

    Whatever comes of it stands in the row, which is read again.
    """
    end = time.monotonic() + POLL
    while run_chunk(job) and time.monotonic() < end:
        pass


def run_chunk(job: Job) -> bool:
    """Run the next chunk if it is free; False where there is nothing more to run now.

    That is also so where the job was deleted meanwhile: nobody wants it nor its files any more.
    """
    try:
        goes_on = _run_chunk(job)
        job.refresh_from_db()
        return goes_on
    except Job.DoesNotExist:
        shutil.rmtree(folder_of(job), ignore_errors=True)
        return False


def _run_chunk(job: Job) -> bool:
    kind = _kind_of(job)
    lease = take_lease(job)
    if not lease:
        return False
    try:
        part = _result_of_chunk(job, lease, kind)
    except checking.Busy:
        _give_back(job, lease, Job.State.WAITING)
        return False
    except Exception as error:
        if not isinstance(error, JobError) and not disk.is_full(error):
            logger.exception("%s failed", job)
        _give_back(job, lease, Job.State.FAILED, attempts=job.attempts, error=_sentence(error))
        return False
    except BaseException:
        # Stopped from outside (Ctrl+C): whoever comes next need not wait for the lease to run out.
        _give_back(job, lease, Job.State.WAITING)
        raise
    is_last = job.done + 1 == job.total
    state = Job.State.DONE if is_last else Job.State.RUNNING
    is_stored = _give_back(job, lease, state, done=F("done") + 1, result=[*job.result, part])
    return is_stored and not is_last


def _result_of_chunk(job: Job, lease: str, kind: JobKind) -> Any:
    if job.attempts > MAX_ATTEMPTS:
        raise JobError(
            f"Part {job.done + 1} was begun {MAX_ATTEMPTS} times and never finished: its process"
            " was stopped each time, or it takes too long. Check the server's memory, then try"
            " again."
        )
    with _renewed(job, lease, kind.limit):
        return kind.chunk(job, job.done)


def _give_back(job: Job, lease: str, state: str, attempts: int = 0, **changes: Any) -> bool:
    """Store what has changed and end the lease; False where it ran out: others have the chunk."""
    stored = Job.objects.filter(pk=job.pk, lease=lease).update(
        state=state,
        attempts=attempts,
        touched_at=database_now(),
        lease="",
        leased_until=None,
        **changes,
    )
    return bool(stored)


@contextlib.contextmanager
def _renewed(job: Job, lease: str, limit: timedelta) -> Iterator[None]:
    """Renew the lease meanwhile, from a thread with a connection of its own."""
    ended = threading.Event()

    def beat() -> None:
        last = time.monotonic() + limit.total_seconds()
        try:
            while not ended.wait(BEAT) and time.monotonic() < last:
                # A database that cannot be asked now is asked again at the next beat.
                with contextlib.suppress(DatabaseError):
                    own = Job.objects.filter(pk=job.pk, lease=lease)
                    own.update(leased_until=database_now() + LEASE)
        finally:
            connection.close()

    thread = threading.Thread(target=beat, name=f"lease on job {job.pk}", daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


def wait_for_lease(job: Job) -> bool:
    """Is its chunk free once the lease that stands on it now has run out?

    False where it is renewed, which a killed process cannot. Waits for half a minute at most.
    """
    until = job.leased_until
    while until is not None and database_now() <= until:
        time.sleep(1)
        try:
            job.refresh_from_db()
        except Job.DoesNotExist:
            return False
        if job.leased_until != until:
            break
    return job.leased_until in (None, until)


def run_waiting(tell: Callable[[str], Any] = str) -> str:
    """Run all waiting jobs to their ends, but those that run elsewhere; `tell` hears of each part.

    One whose process was killed is resumed within half a minute. Raises JobError where one failed.
    """
    failed = ended = 0
    waiting = (Job.State.WAITING, Job.State.RUNNING)
    for job in Job.objects.filter(state__in=waiting, kind__in=known()):
        while run_chunk(job) or (job.lease and wait_for_lease(job)):
            tell(str(job))
        tell(f"{job}, {job.state}" + (f": {job.error}" if job.error else ""))
        failed += job.has_failed
        ended += job.is_done
    if failed:
        raise JobError(f"{failed} failed. Their pages say what to do.")
    return f"{ended} jobs ended"


def take_lease(job: Job) -> str:
    """Take the next chunk; the name of the lease, or "" where it is taken or there is none."""
    lease, now = secrets.token_hex(16), database_now()
    unfinished = Q(state__in=(Job.State.WAITING, Job.State.RUNNING))
    leased = Job.objects.filter(unfinished & free_at(now), pk=job.pk).update(
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
