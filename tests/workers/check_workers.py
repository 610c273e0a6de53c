"""Jobs on Celery workers with Debian's Redis: killed workers, a missing broker, duplicates."""

import collections
import os
import signal
import time

import pytest
from django.urls import reverse

from config import celery
from tasks import jobs
from tasks.clock import database_now
from tasks.models import Job, PeriodicPart
from tests import factories
from tests.workers.conftest import kill

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def naps(tmp_path):
    """Start a job of naps; each `name` is a separate job."""
    folder = tmp_path / "runs"
    folder.mkdir()

    def start(total: int, seconds: float, name: str = "") -> Job:
        made_of = {"folder": str(folder), "seconds": seconds, "name": name}
        return jobs.start("naps", made_of, total=total, owner=None)

    start.runs = lambda: [tuple(map(int, p.name.split("-")[:2])) for p in folder.iterdir()]
    return start


def wait_until(condition, poll=lambda: None, seconds: float = 60) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it took too long"
        poll()
        time.sleep(0.3)


def finish(job: Job) -> None:
    """Poll the job as a page does, until it is finished."""

    def poll() -> None:
        job.refresh_from_db()
        jobs.advance(job)
        job.refresh_from_db()

    wait_until(lambda: job.is_done or job.has_failed, poll)
    assert job.error == ""


def test_chunks_run_once_each_and_two_jobs_run_at_once(redis, worker, naps):
    redis.start()
    worker(), worker()
    two = [naps(4, 0.5, name) for name in ("one", "other")]
    for job in two:
        jobs.advance(job)
    for job in two:
        finish(job)
        assert job.result == [number * number for number in range(4)]
    assert sorted(number for number, _pid in naps.runs()) == sorted([*range(4)] * 2)
    assert os.getpid() not in {pid for _number, pid in naps.runs()}
    assert len({pid for _number, pid in naps.runs()}) > 1


def test_a_chunk_delivered_many_times_runs_and_is_stored_once(redis, worker, naps):
    redis.start()
    worker(2), worker(2)
    job = naps(3, 0.5)
    for number in [0, 1, 2] * 10:
        celery.send(job.pk, number)
    finish(job)
    assert job.result == [0, 1, 4]
    assert sorted(number for number, _pid in naps.runs()) == [0, 1, 2]


def test_killing_workers_loses_and_doubles_no_chunk(redis, worker, naps):
    """One worker loses its pool process, another is killed entirely, and a third continues."""
    redis.start()
    first, second = worker(), worker()
    two = [naps(4, 2, name) for name in ("one", "other")]
    running = lambda: Job.objects.exclude(lease="").count()  # noqa: E731

    def poll() -> None:
        for job in Job.objects.all():
            jobs.advance(job)

    wait_until(lambda: running() == 2, poll)
    begun = naps.runs()
    kill(second)
    # A pool process is a child of its worker; another process takes over its chunk.
    for pid in {pid for _number, pid in begun}:
        if os.path.exists(f"/proc/{pid}"):
            os.kill(pid, signal.SIGKILL)
    assert first.poll() is None
    worker()
    for job in two:
        finish(job)
        assert job.result == [number * number for number in range(4)]
    times = collections.Counter(number for number, _pid in naps.runs())
    assert sum(times.values()) == 2 * 4 + 2, times


def test_without_its_broker_the_study_continues_and_jobs_wait(client, researcher, redis, worker):
    study = factories.make_study(researcher, factories.make_task(test_size=3), annotators=2)
    for scenario in study.scenarios.all():
        factories.work_through(factories.seat(scenario))
    others = factories.make_study(researcher, study.tasks.get(), name="others")
    client.force_login(researcher)
    header = {"HX-Request": "true"}
    poll = lambda: client.post(address, headers=header).content.decode()  # noqa: E731
    address = reverse("analysis_run", args=[study.name])
    assert "job queue isn't responding" in poll()
    assert (Job.objects.get().state, Job.objects.get().done) == ("waiting", 0)
    # Annotators continue, and pages are served.
    factories.work_through(factories.seat(others.scenarios.first()))
    assert client.get(reverse("analysis", args=[study.name])).status_code == 200
    redis.start()
    assert "Waiting for a free worker" in poll()
    worker()
    wait_until(lambda: Job.objects.get().done, poll)
    wait_until(lambda: Job.objects.get().is_done, poll)


def test_a_broker_that_dies_loses_and_doubles_no_chunk(redis, worker, naps):
    redis.start()
    worker()
    job = naps(6, 1.0)

    def poll() -> None:
        job.refresh_from_db()
        jobs.advance(job)
        job.refresh_from_db()

    wait_until(lambda: job.done >= 1, poll)
    redis.kill()
    poll()
    assert not job.is_done
    redis.start()
    finish(job)
    assert job.result == [number * number for number in range(6)]
    assert sorted(number for number, _pid in naps.runs()) == list(range(6))


def test_the_tick_sends_jobs_to_workers(redis, worker, naps):
    redis.start()
    worker()
    job = naps(3, 0.1)
    celery.tick.delay()
    wait_until(lambda: Job.objects.get(pk=job.pk).is_done)
    wait_until(lambda: PeriodicPart.objects.get(name="jobs").succeeded_at is not None)
    assert PeriodicPart.objects.filter(started_at__gt=database_now(), error="").count() == 0
    entry = celery.app.conf.beat_schedule["tick"]
    assert celery.app.tasks[entry["task"]] is not None
