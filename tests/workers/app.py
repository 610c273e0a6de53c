"""The Celery app of the workers under test, with a job that records which process ran it."""

import os
import secrets
import time
from pathlib import Path

import django

django.setup()

from config.celery import app  # noqa: E402, F401
from tasks import jobs  # noqa: E402
from tasks.models import Job  # noqa: E402


@jobs.job("naps")
def _nap(job: Job, number: int) -> int:
    """Create a file NUMBER-PROCESS-RANDOM, sleep, and return the square of the number."""
    name = f"{number}-{os.getpid()}-{secrets.token_hex(4)}"
    (Path(job.parameters["folder"]) / name).touch()
    time.sleep(job.parameters["seconds"])
    return number * number
