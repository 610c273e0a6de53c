"""Jobs run in chunks and can be resumed; no chunk runs twice; a failure says what to do."""

import os
import signal
import subprocess
import sys
import threading
import time
from datetime import timedelta

import pytest
from django.core.management import CommandError, call_command
from django.db import IntegrityError, connection, transaction
from django.db.models import Q
from django.utils import timezone

from tasks import jobs
from tasks.models import Job
from tests.annotation.races import THREADS, race

pytestmark = pytest.mark.engines


@pytest.fixture
def ran(monkeypatch):
    """Register a kind of job for the tests; return the list of chunks that have run."""
    numbers: list[int] = []

    def chunk(job: Job, number: int):
        numbers.append(number)
        time.sleep(job.parameters.get("sleep", 0))
        if number in job.parameters.get("cannot", []):
            raise jobs.JobError("There is no more paper. Put some in.")
        if number in job.parameters.get("breaks", []):
            raise KeyError("paper")
        if number in job.parameters.get("stops", []):
            raise KeyboardInterrupt
        return number * number

    monkeypatch.setitem(jobs.KINDS, "squares", (chunk, timedelta(minutes=1)))
    monkeypatch.setattr(jobs, "POLL", 0)
    return numbers


def squares(owner=None, total=3, **parameters) -> Job:
    return jobs.start("squares", parameters, total=total, owner=owner)


def finish(job: Job) -> None:
    for _ in range(job.total):
        jobs.advance(job)


def test_chunks_run_in_order_and_their_results_are_stored(db, ran):
    job = squares()
    assert (job.state, job.done, job.result) == ("waiting", 0, [])
    jobs.advance(job)
    assert (job.state, job.done, job.result) == ("running", 1, [0])
    finish(job)
    assert (job.state, job.done, job.result) == ("done", 3, [0, 1, 4])
    jobs.advance(job)
    assert ran == [0, 1, 2]


def test_the_same_work_is_one_job_for_all_accounts(db, ran, researcher, other_researcher):
    job = squares(researcher, cannot=[1])
    assert squares(other_researcher, cannot=[1]) == job
    assert jobs.find("squares", {"cannot": [1]}) == job
    assert squares(researcher, cannot=[2]) != job
    assert jobs.start("squares", {"cannot": [1]}, total=3, owner=None, seed=4) != job
    assert jobs.find("squares", {}) is None


def test_a_poll_runs_as_many_chunks_as_fit_into_its_time(db, ran, monkeypatch):
    monkeypatch.setattr(jobs, "POLL", 60)
    job = squares(total=5)
    jobs.advance(job)
    assert job.is_done


def test_a_failed_chunk_gives_a_reason_and_can_be_retried(db, ran):
    job = squares(cannot=[1])
    finish(job)
    assert (job.state, job.done) == ("failed", 1)
    assert job.error == "There is no more paper. Put some in."
    jobs.advance(job)
    assert ran == [0, 1]
    job.parameters = {}
    job.save(update_fields=["parameters"])
    jobs.retry(job)
    finish(job)
    assert (job.state, job.error, job.result) == ("done", "", [0, 1, 4])
    assert ran == [0, 1, 1, 2]


def test_an_unexpected_failure_is_logged_and_suggests_a_retry(db, ran, caplog):
    job = squares(breaks=[0])
    jobs.advance(job)
    assert "KeyError" in job.error
    assert "Try again" in job.error
    assert "KeyError: 'paper'" in caplog.text


def test_retrying_a_job_that_has_not_failed_changes_nothing(db, ran):
    job = squares()
    jobs.advance(job)
    jobs.retry(job)
    assert (job.state, job.done) == ("running", 1)


def test_a_keyboard_interrupt_leaves_the_chunk_free(db, ran):
    job = squares(stops=[0])
    with pytest.raises(KeyboardInterrupt):
        jobs.advance(job)
    job.refresh_from_db()
    assert (job.state, job.lease) == ("waiting", "")


def abandoned(job: Job, until: timedelta) -> None:
    """Leave the job leased for that long, as a killed process does."""
    Job.objects.filter(pk=job.pk).update(
        state="running", lease="f" * 32, leased_until=timezone.now() + until, attempts=1
    )


def test_a_claimed_chunk_is_not_run_until_the_claim_expires(db, ran):
    job = squares()
    jobs.advance(job)
    abandoned(job, timedelta(seconds=30))
    jobs.advance(job)
    assert (job.done, ran) == (1, [0])
    abandoned(job, -timedelta(seconds=1))
    finish(job)
    assert (job.state, job.result, ran) == ("done", [0, 1, 4], [0, 1, 2])


def test_a_result_after_the_claim_expired_is_not_stored(db, ran, monkeypatch):
    """Another process has taken over the chunk and is still running it."""
    job = squares()

    def slow(job, number):
        abandoned(job, timedelta(seconds=30))
        return "too late"

    monkeypatch.setitem(jobs.KINDS, "squares", (slow, timedelta(minutes=1)))
    jobs.advance(job)
    assert (job.state, job.done, job.result, job.lease) == ("running", 0, [], "f" * 32)


def test_a_chunk_that_always_kills_its_process_finally_fails(db, ran):
    job = squares()
    for _ in range(jobs.MAX_ATTEMPTS):
        Job.objects.filter(pk=job.pk).update(leased_until=None, lease="", state="waiting")
        assert jobs.take_lease(job)
    Job.objects.filter(pk=job.pk).update(leased_until=timezone.now() - timedelta(seconds=1))
    jobs.advance(job)
    assert job.has_failed
    assert "Part 1 was started 3 times but never finished" in job.error
    assert ran == []
    jobs.retry(job)
    jobs.advance(job)
    assert job.result == [0]


def test_files_written_for_a_dropped_job_are_deleted(
    db, ran, monkeypatch, settings, tmp_path, django_capture_on_commit_callbacks
):
    settings.VAR_DIR = tmp_path

    def chunk(job, number):
        with django_capture_on_commit_callbacks(execute=True):
            jobs.drop(Job.objects.filter(pk=job.pk))
        jobs.folder_of(job).mkdir(parents=True)
        (jobs.folder_of(job) / "secret.csv").write_text("x")

    monkeypatch.setitem(jobs.KINDS, "squares", (chunk, timedelta(minutes=1)))
    jobs.advance(squares())
    assert list((tmp_path / "jobs").iterdir()) == []


def test_a_job_that_is_deleted_during_a_chunk_ends_quietly(db, ran, monkeypatch):
    job = squares()
    gone = (lambda job, number: Job.objects.all().delete() and None, timedelta(minutes=1))
    monkeypatch.setitem(jobs.KINDS, "squares", gone)
    jobs.advance(job)
    assert not Job.objects.exists()


@pytest.mark.parametrize(
    "wrong",
    [
        {"done": 4}, {"total": 0, "done": 0}, {"state": "done"}, {"state": "failed"},
        {"done": 3}, {"lease": "x"}, {"error": "x"},
    ],
)  # fmt: skip
def test_the_database_refuses_an_invalid_job(db, ran, wrong):
    job = squares()
    with pytest.raises(IntegrityError), transaction.atomic():
        Job.objects.filter(pk=job.pk).update(**wrong)


def renewing(job: Job, *, times: int):
    """Simulate a process that renews its lease whenever the job is queried, up to `times` times."""
    left = [times]

    def look(execute, sql, *arguments):
        if sql.startswith("SELECT") and "tasks_job" in sql and left[0]:
            left[0] -= 1
            Job.objects.filter(pk=job.pk).update(leased_until=timezone.now() + jobs.LEASE)
        return execute(sql, *arguments)

    return connection.execute_wrapper(look)


def test_the_command_resumes_the_chunk_of_a_killed_process(db, ran, capsys):
    job = squares(total=2)
    abandoned(job, timedelta(seconds=2))
    call_command("run_jobs")
    job.refresh_from_db()
    assert (job.state, ran) == ("done", [0, 1])


def test_the_command_runs_waiting_jobs_and_skips_claimed_ones(db, ran, capsys):
    waiting, leased = squares(total=2), squares(total=4)
    leased.parameters = {"other": 1}
    leased.key, leased.pk = "k", None
    leased.save(force_insert=True)
    abandoned(leased, timedelta(seconds=30))
    with renewing(leased, times=100):
        call_command("run_jobs")
    waiting.refresh_from_db()
    leased.refresh_from_db()
    assert (waiting.state, leased.state) == ("done", "running")
    assert "2 of 2, done" in capsys.readouterr().out


def test_the_command_reports_failed_jobs(db, ran, capsys):
    squares(cannot=[0])
    with pytest.raises(CommandError, match="1 failed"):
        call_command("run_jobs")
    assert "no more paper" in capsys.readouterr().out


# Races, and a kill, each with its control (see test_races.py) ------------------------------------


def polls_at_once(attempt: int = 0) -> Job:
    job = squares(total=1, sleep=0.2, attempt=attempt)
    for result in race([lambda: jobs.advance(Job.objects.get(pk=job.pk)) for _ in range(THREADS)]):
        assert result is None, result
    job.refresh_from_db()
    return job


@pytest.mark.postgres
@pytest.mark.django_db(transaction=True)
def test_many_polls_at_once_run_a_chunk_once(ran):
    job = polls_at_once()
    assert ran == [0]
    assert job.result == [0]


@pytest.mark.postgres
@pytest.mark.django_db(transaction=True)
def test_control_without_the_condition_the_chunk_runs_many_times(ran, monkeypatch):
    """The stored result is still right, because only the holder of the lease can store it."""
    monkeypatch.setattr(jobs, "free_at", lambda now: Q())
    monkeypatch.setattr(jobs, "MAX_ATTEMPTS", 10 * THREADS)
    for attempt in range(40):
        ran.clear()
        assert polls_at_once(attempt).result == [0]
        if len(ran) > 1:
            break
    assert len(ran) > 1


@pytest.mark.postgres
@pytest.mark.django_db(transaction=True)
def test_simultaneous_requests_for_the_same_work_get_one_job(ran):
    given = race([lambda: squares(cannot=[1]) for _ in range(THREADS)])
    assert {job.pk for job in given} == {Job.objects.get().pk}


def held_until(job: Job, condition) -> None:
    """Wait until the lease in the database meets the condition, or the test times out."""
    while not condition(Job.objects.get(pk=job.pk).leased_until):
        time.sleep(0.01)


@pytest.mark.postgres
@pytest.mark.django_db(transaction=True)
def test_the_claim_on_a_running_chunk_is_renewed_up_to_its_limit(ran, monkeypatch):
    monkeypatch.setattr(jobs, "BEAT", 0.01)
    job = squares(total=1)
    seen = []

    def slow(job, number):
        first = job.leased_until
        held_until(job, lambda until: until > first + timedelta(milliseconds=100))
        seen.append(first)

    monkeypatch.setitem(jobs.KINDS, "squares", (slow, timedelta(minutes=1)))
    jobs.advance(job)
    assert seen
    assert job.state == "done"


@pytest.mark.postgres
@pytest.mark.django_db(transaction=True)
def test_a_claim_is_not_renewed_beyond_the_limit_of_a_chunk(ran, monkeypatch):
    monkeypatch.setattr(jobs, "BEAT", 0.01)
    job = squares(total=1)

    def endless(job, number):
        while any(thread.name == f"lease on job {job.pk}" for thread in threading.enumerate()):
            time.sleep(0.01)

    monkeypatch.setitem(jobs.KINDS, "squares", (endless, timedelta(seconds=0.1)))
    jobs.advance(job)
    assert job.state == "done"


WORK_AND_DIE = """
import os, signal, sys
import django
django.setup()
from tasks import jobs
from tasks.models import Job

@jobs.job("squares")
def chunk(job, number):
    if number == 1:
        os.kill(os.getpid(), signal.SIGKILL)
    return number * number

jobs.advance(Job.objects.get(pk=sys.argv[1]))
"""


@pytest.mark.postgres
@pytest.mark.django_db(transaction=True)
def test_the_chunk_of_a_killed_process_is_taken_after_its_claim(ran):
    job = squares()
    done = subprocess.run(
        [sys.executable, "-c", WORK_AND_DIE, str(job.pk)],
        env=os.environ
        | {"DATABASE_URL": database_address(), "DJANGO_SETTINGS_MODULE": "config.settings"},
        capture_output=True,
        timeout=60,
    )
    assert done.returncode == -signal.SIGKILL, done.stderr.decode()
    jobs.advance(job)
    assert (job.state, job.done, ran) == ("running", 1, [])
    # The limit of a chunk is a minute, but the test ends the lease earlier.
    assert job.leased_until <= timezone.now() + jobs.LEASE
    Job.objects.filter(pk=job.pk).update(leased_until=timezone.now())
    until = time.monotonic() + 30  # the server may still be ending the dead process's session
    while job.state != "done" and time.monotonic() < until:
        jobs.advance(job)
    assert (job.state, job.result, ran) == ("done", [0, 1, 4], [1, 2])


def database_address() -> str:
    """Return the address of this test's database for another process."""
    database = connection.settings_dict
    user = f"{database['USER']}:{database['PASSWORD']}@{database['HOST']}"
    host = database["OPTIONS"].get("host")
    return f"postgresql://{user}/{database['NAME']}" + (f"?host={host}" if host else "")
