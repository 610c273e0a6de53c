"""Chunks of a job that run at the same time: each once, whoever else runs and stores another."""

import threading
from datetime import timedelta

import pytest
from django.db.models import Q, QuerySet
from django.utils import timezone

from tasks import jobs, periodic
from tasks.models import Job, JobChunk
from tests.annotation.races import THREADS, race

pytestmark = pytest.mark.engines


@pytest.fixture
def ran(monkeypatch):
    """A kind whose first and last chunk are alone; the list of the chunks that were run."""
    numbers: list[int] = []

    def chunk(job: Job, number: int):
        numbers.append(number)
        if number in job.parameters.get("cannot", []):
            raise jobs.JobError("There is no more paper. Put some in.")
        return [number, len(job.result)]

    together = lambda job: range(1, job.total - 1)  # noqa: E731
    kind = jobs.JobKind(chunk, timedelta(minutes=1), together)
    monkeypatch.setitem(jobs.KINDS, "squares", kind)
    monkeypatch.setattr(jobs, "POLL", 0)
    return numbers


def squares(total=5, **parameters) -> Job:
    return jobs.start("squares", parameters, total=total, owner=None)


def abandoned(job: Job, number: int, until: timedelta) -> None:
    """As a killed process leaves it."""
    chunk, _made = JobChunk.objects.get_or_create(job=job, number=number)
    lease = {"lease": "f" * 32, "leased_until": timezone.now() + until, "attempts": 1}
    JobChunk.objects.filter(pk=chunk.pk).update(**lease)


def test_the_last_of_them_moves_what_all_gave_into_the_job_in_their_order(db, ran):
    job = squares()
    for number in (0, 3, 1, 2, 4):
        assert jobs.run_chunk(job, number) == (number != 4)
    assert (job.state, ran) == ("done", [0, 3, 1, 2, 4])
    # The first sees nothing, those together what came before them, the last all.
    assert job.result == [[0, 0], [1, 1], [2, 1], [3, 1], [4, 4]]
    assert not jobs.run_chunk(job, 4)


def test_a_chunk_is_not_run_before_its_turn_nor_once_more(db, ran):
    job = squares()
    for number in (1, 4, 0, 0, 4, 2, 2):
        jobs.run_chunk(job, number)
    assert (ran, job.done) == ([0, 2], 2)


def test_a_poll_leaves_the_chunk_of_another_alone_and_runs_the_next(db, ran):
    job = squares()
    jobs.advance(job)
    abandoned(job, 1, timedelta(seconds=30))
    for _ in range(4):
        jobs.advance(job)
    assert (ran, job.done, job.state) == ([0, 2, 3], 3, "running")
    abandoned(job, 1, timedelta(seconds=1))
    assert periodic.run_all_jobs() == "1 jobs ended"
    assert ran == [0, 2, 3, 1, 4]


def test_one_that_fails_ends_the_job_and_the_others_are_kept(db, ran):
    job = squares(cannot=[2])
    for number in (0, 1, 2, 3):
        jobs.run_chunk(job, number)
    assert (job.state, job.done) == ("failed", 2)
    Job.objects.update(parameters={})
    jobs.retry(job)
    for _ in range(3):
        jobs.advance(job)
    assert (job.state, ran) == ("done", [0, 1, 2, 2, 3, 4])


def test_what_another_is_at_when_one_fails_is_stored_all_the_same(db, ran):
    job = squares(cannot=[2])
    jobs.run_chunk(job, 0)
    chunk = jobs.take_chunk(job, 1)
    jobs.run_chunk(job, 2)
    jobs.store_beside_others(chunk, "late")
    job.refresh_from_db()
    assert (job.state, job.done) == ("failed", 2)


@pytest.mark.postgres
@pytest.mark.django_db(transaction=True)
def test_two_on_one_chunk_run_it_once(ran):
    assert len(takers_at_once()) == 1


@pytest.mark.postgres
@pytest.mark.django_db(transaction=True)
def test_control_without_the_condition_several_have_it(ran, monkeypatch):
    """Each thinks that it has the lease, one after the other."""
    monkeypatch.setattr(jobs, "free_at", lambda now: Q())
    job = squares()
    jobs.run_chunk(job, 0)
    assert all(jobs.take_chunk(job, 1) for _ in range(2))


def takers_at_once(attempt: int = 0) -> list[JobChunk]:
    job = squares(attempt=attempt)
    jobs.run_chunk(job, 0)
    taken = race([lambda: jobs.take_chunk(job, 1) for _ in range(THREADS)])
    assert all(chunk is None or isinstance(chunk, JobChunk) for chunk in taken), taken
    return [chunk for chunk in taken if chunk]


def stored_at_once(attempt: int = 0) -> Job:
    """All of those that run together end at the same moment."""
    job = squares(THREADS + 2, attempt=attempt)
    jobs.run_chunk(job, 0)
    chunks = [jobs.take_chunk(job, number) for number in range(1, THREADS + 1)]
    gate = threading.Barrier(THREADS)

    def store(chunk: JobChunk) -> None:
        gate.wait()
        jobs.store_beside_others(chunk, chunk.number)

    race([lambda chunk=chunk: store(chunk) for chunk in chunks])
    job.refresh_from_db()
    return job


@pytest.mark.postgres
@pytest.mark.django_db(transaction=True)
def test_those_that_end_at_the_same_moment_are_all_counted(ran):
    assert stored_at_once().result == [[0, 0], *range(1, THREADS + 1)]


@pytest.mark.postgres
@pytest.mark.django_db(transaction=True)
def test_control_without_the_lock_of_the_job_they_are_not(ran, monkeypatch):
    monkeypatch.setattr(QuerySet, "select_for_update", lambda rows, *a, **k: rows)
    assert any(len(stored_at_once(attempt).result) == 1 for attempt in range(20))
