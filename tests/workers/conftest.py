"""Redis and Celery workers, started and ended by each test, on the test's database."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import tests.workers.app  # noqa: F401  registers the kind of job
from tasks import installation, jobs
from tests.tasks.test_jobs import database_address

pytest_plugins = ["tests.conftest"]
ROOT = Path(__file__).parents[2]
PORT = int(os.environ["CELERY_BROKER_URL"].rpartition(":")[2].partition("/")[0])


class Redis:
    """A Redis server that keeps no data when it ends."""

    def __init__(self, folder: Path):
        self.folder, self.process = folder, None

    def start(self) -> None:
        command = ["redis-server", "--port", str(PORT), "--bind", "127.0.0.1", "--save", ""]
        self.process = subprocess.Popen([*command, "--dir", str(self.folder)], stdout=-3)
        ask = ["redis-cli", "-p", str(PORT), "ping"]
        while subprocess.run(ask, capture_output=True).stdout.strip() != b"PONG":
            assert self.process.poll() is None, "redis-server does not start"
            time.sleep(0.1)

    def kill(self) -> None:
        if self.process:
            self.process.kill()
            self.process.wait()
            self.process = None


@pytest.fixture
def redis(tmp_path):
    """A Redis server, not started yet."""
    server = Redis(tmp_path)
    yield server
    server.kill()


@pytest.fixture
def worker(tmp_path, transactional_db):
    """Start workers with a number of processes in a process group; all are killed at the end."""
    started = []
    # The folder records its database, but each test has a new database.
    (Path(os.environ["HANDFUL_VAR"]) / installation.FILE).unlink(missing_ok=True)

    def start(concurrency: int = 1) -> subprocess.Popen:
        log = (tmp_path / f"worker-{len(started)}.log").open("wb")
        process = subprocess.Popen(
            [
                *[sys.executable, "-m", "celery", "-A", "tests.workers.app", "worker"],
                *["--without-gossip", "--without-mingle", "--concurrency", str(concurrency)],
            ],
            env=os.environ | {"DATABASE_URL": database_address()},
            cwd=ROOT, stdout=log, stderr=subprocess.STDOUT, start_new_session=True,
        )  # fmt: skip
        started.append(process)
        return process

    yield start
    for process in started:
        kill(process)
    for log in sorted(tmp_path.glob("worker-*.log")):
        print(log.read_text())  # pytest shows this if the test fails


def kill(worker: subprocess.Popen) -> None:
    """Kill the worker and all its processes with SIGKILL."""
    try:
        os.killpg(worker.pid, signal.SIGKILL)
    except ProcessLookupError:
        return
    worker.wait()


@pytest.fixture(autouse=True)
def _resent_soon(monkeypatch):
    """If a chunk's message is lost, resend the chunk after seconds instead of a minute."""
    monkeypatch.setattr(jobs, "RESEND", jobs.RESEND / 20)
