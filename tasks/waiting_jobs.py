"""All jobs that wait, run to their ends here; or handed to the workers where there is a queue."""

import time
from collections.abc import Callable
from typing import Any

from tasks import job_queue, jobs
from tasks.clock import database_now
from tasks.jobs import JobError
from tasks.models import Job


def go_on() -> str:
    """What each tick does: run all of them, or send the workers word of their chunks."""
    if job_queue.send is None:
        return run_all()
    waiting = Job.objects.filter(jobs.OPEN, kind__in=jobs.known())
    for job in waiting:
        jobs.advance(job)
        if job.queue_is_away:
            raise JobError(f"The queue does not answer: {len(waiting)} jobs wait for it.")
    return f"{len(waiting)} jobs are with the workers"


def run_all(tell: Callable[[str], Any] = str) -> str:
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
    """Is a chunk free once the leases that stand on it now have run out?

    False where all are renewed, which a killed process cannot. Waits for half a minute at most.
    """
    held = _leases(job)
    for lease, until in held.items():
        while _leases(job).get(lease) == until and database_now() <= until:
            time.sleep(1)
    now = _leases(job)
    return bool(held) and any(now.get(lease) in (None, until) for lease, until in held.items())


def _leases(job: Job) -> dict[str, Any]:
    """The leases on its chunks, and until when each is believed."""
    own = Job.objects.filter(pk=job.pk).exclude(lease="")
    beside = job.chunks.exclude(lease="")
    return dict(
        [*own.values_list("lease", "leased_until"), *beside.values_list("lease", "leased_until")]
    )
