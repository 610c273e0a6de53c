"""Time the resampling of a study by one Celery worker and by two, on PostgreSQL with Redis.

`python tests/with_postgres.py python benchmarks/jobs.py` (five minutes; needs redis-server). The
study of dashboard.py: 24 cells of 14 annotators and 300 examples, 10,000 resamples each. A worker
is one process with one thread of arithmetic; each has done the whole job once before the clock.
Ends with status 1 where two are less than 1.7 times as fast as one.
"""

import argparse
import contextlib
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from benchmarks import dashboard  # noqa: E402
from benchmarks.run import database  # noqa: E402

WANTED = 1.7
ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")


@contextlib.contextmanager
def queue() -> Iterator[str]:
    """A Redis on a free port: its address."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with tempfile.TemporaryDirectory() as folder:
        command = ["redis-server", "--port", str(port), "--bind", "127.0.0.1", "--save", ""]
        process = subprocess.Popen([*command, "--dir", folder], stdout=subprocess.DEVNULL)
        try:
            yield f"redis://127.0.0.1:{port}/0"
        finally:
            process.kill()
            process.wait()


@contextlib.contextmanager
def workers(number: int) -> Iterator[None]:
    """So many workers, each one process."""
    command = [sys.executable, "-m", "celery", "-A", "config.celery", "worker", "--pool", "solo"]
    started = [
        subprocess.Popen(
            [*command, "--hostname", f"w{index}@%h", "--loglevel", "error"],
            cwd=ROOT,
            env=os.environ | ONE_THREAD,
            start_new_session=True,
        )
        for index in range(number)
    ]
    try:
        yield
    finally:
        for process in started:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def resample(study: Any) -> tuple[float, int]:
    """Seconds of the whole job from its start to its end, polled as a page does; its chunks."""
    from analysis.tables import resampling
    from tasks import jobs

    started = time.perf_counter()
    job = resampling.job_of(study, "person", owner=study.owner)
    while not job.is_done:
        jobs.advance(job)
        job.refresh_from_db()
        if job.has_failed:
            sys.exit(f"The job failed: {job.error}")
        time.sleep(0.1)
    took, total = time.perf_counter() - started, job.total
    job.delete()
    return took, total


def measure() -> int:
    """Print a table; 1 if the second worker gives too little."""
    from annotation.models import Study

    print(f"{dashboard.make():,} answers; load {os.getloadavg()[0]:.1f}\n", flush=True)
    study = Study.objects.get(name="large")
    seconds = {}
    print("| workers | seconds | chunks | seconds a chunk |\n|---|---|---|---|")
    for number in (1, 2):
        with workers(number):
            resample(study)  # modules are loaded
            took, chunks = resample(study)
        seconds[number] = took
        print(f"| {number} | {took:.1f} | {chunks} | {number * took / chunks:.2f} |", flush=True)
    ratio = seconds[1] / seconds[2]
    print(f"\nTwo are {ratio:.2f} times as fast as one.")
    return int(ratio < WANTED)


def main() -> None:
    argparse.ArgumentParser(description=__doc__).parse_args()
    os.environ["DJANGO_SETTINGS_MODULE"] = "config.settings"
    with database("handful_jobs") as address, queue() as broker:
        os.environ["DATABASE_URL"], os.environ["CELERY_BROKER_URL"] = address, broker
        subprocess.run([sys.executable, "manage.py", "migrate", "-v0"], cwd=ROOT, check=True)
        import django

        django.setup()
        from django.db import connections

        status = measure()
        connections.close_all()
    sys.exit(status)


if __name__ == "__main__":
    main()
