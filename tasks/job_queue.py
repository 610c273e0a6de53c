"""Sending workers word of the chunks of jobs, where this installation has a queue.

A message names the job and the number of a chunk, no more. That it was sent stands in the row of
the chunk, so that polls do not send it again and again; one that was lost, or whose worker was
killed, is sent once more by a later poll, a tick or the worker of another chunk.
"""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

from django.db.models import F, Q, QuerySet

from tasks.clock import database_now
from tasks.models import Job, JobChunk

RESEND = timedelta(minutes=1)  # that a chunk waits in the queue before word of it is sent again


class QueueAway(Exception):
    """The queue does not answer."""


# Sends the number of a chunk of the job with this key; None where there is no queue. QueueAway.
send: Callable[[int, int], None] | None = None


def hand_out(job: Job, numbers: range, together: bool) -> None:
    """Send word of those of these chunks that are neither done nor at work nor sent already.

    Where the queue does not answer, `job.queue_is_away` says so, and they wait.
    """
    assert send is not None
    if job.is_done or job.has_failed:
        return
    for number, row in _rows(job, numbers) if together else _next(job):
        if not row.filter(_unsent()).update(sent_at=database_now()):
            continue
        try:
            send(job.pk, number)
        except QueueAway:
            row.update(sent_at=None)
            job.queue_is_away = True
            return


def _unsent() -> Q:
    now = database_now()
    free = Q(leased_until=None) & (Q(sent_at=None) | Q(sent_at__lt=now - RESEND))
    abandoned = Q(leased_until__lt=now, sent_at__lt=F("leased_until"))
    return free | abandoned | Q(leased_until__lt=now, sent_at=None)


def _next(job: Job) -> list[tuple[int, QuerySet[Any]]]:
    """The one chunk whose turn it is, with the row that has its lease: the job itself."""
    return [(job.done, Job.objects.filter(pk=job.pk, done=job.done))]


def _rows(job: Job, numbers: range) -> list[tuple[int, QuerySet[Any]]]:
    """Those of chunks that run together that may have to be sent, each with its row."""
    made = [JobChunk(job=job, number=number) for number in numbers]
    JobChunk.objects.bulk_create(made, ignore_conflicts=True)
    waiting = job.chunks.filter(_unsent(), is_done=False, number__in=numbers)
    return [(chunk.number, JobChunk.objects.filter(pk=chunk.pk)) for chunk in waiting]
