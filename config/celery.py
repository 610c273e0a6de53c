"""Celery app, only used if CELERY_BROKER_URL is set. Workers run jobs, and beat runs the tick.

Start them with `celery -A config.celery worker` and `celery -A config.celery beat`
(docs/operating.md). Only apps.py imports this module, when it sends a job, so a server without a
broker does not require Celery.

A message only contains the numbers of a job and a chunk. The work, its attempts and its result are
in the database, so lost or repeated messages do no harm. Jobs handle retries themselves
(tasks/jobs.py).
"""

import logging
import os

from celery import Celery, signals
from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.core.management import call_command
from kombu.exceptions import OperationalError

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")

from config import logs

logger = logging.getLogger("handful.celery")
TICK = 60.0  # seconds
# Messages are redelivered after this many seconds, so no chunk of a job may take longer.
VISIBILITY = 3600

if not settings.CELERY_BROKER_URL:
    raise ImproperlyConfigured(
        "CELERY_BROKER_URL is not set, so no queue exists. Pages and tick run the jobs."
    )

app = Celery("handful", broker=settings.CELERY_BROKER_URL)
app.conf.update(
    task_ignore_result=True,
    task_default_queue="handful",
    # Acknowledge a message after its task is done, so that it is redelivered if the worker dies.
    task_acks_late=True,
    task_reject_on_worker_lost=True,
    worker_prefetch_multiplier=1,
    worker_send_task_events=False,
    # A worker retries its broker connection forever, whereas sending a message fails immediately.
    broker_connection_retry_on_startup=True,
    broker_connection_max_retries=None,
    task_publish_retry=False,
    broker_transport_options={
        "visibility_timeout": VISIBILITY,
        "socket_connect_timeout": 1,
        "socket_timeout": 5,
        "max_retries": 1,
        "interval_start": 0,
        "interval_max": 0.1,
    },
    beat_schedule={
        # Discard a tick as soon as the next one is due.
        "tick": {"task": "handful.tick", "schedule": TICK, "options": {"expires": TICK}}
    },
    beat_schedule_filename=str(settings.VAR_DIR / "celery-beat"),
)


@signals.setup_logging.connect
def _keep_log_handlers(**_kwargs: object) -> None:
    """Keep Celery from installing its own log handlers, which would log secret links."""


@signals.task_prerun.connect
def _number(task_id: str = "", **_kwargs: object) -> None:
    """Use the Celery task ID as the request ID in the log."""
    logs.request_id.set(task_id.replace("-", "")[:12])


@app.task(name="handful.chunk")
def run_chunk(job: int, number: int) -> None:
    """Run the chunk unless it has already been done, then enqueue the next one."""
    from tasks import jobs
    from tasks.models import Job

    row = Job.objects.filter(pk=job).first()
    if row is None:
        return
    jobs.run_chunk(row, number)
    if Job.objects.filter(pk=job).exists():
        jobs.advance(row)


def send(job: int, number: int) -> None:
    """Enqueue a chunk for the workers (the `send` hook of tasks/jobs.py). Raises QueueAway."""
    from tasks.jobs import QueueAway

    try:
        run_chunk.delay(job, number)
    except (OperationalError, OSError) as error:
        logger.warning("The broker does not respond: %s", error)
        raise QueueAway from None


@app.task(name="handful.tick")
def tick() -> None:
    """Run all periodic work that is due, as cron does. Row locks keep runs from overlapping."""
    call_command("tick")


@signals.worker_init.connect
def _check_installation(**_kwargs: object) -> None:
    """Check the data folder and the keys before a worker starts, as `run_jobs` does."""
    from annotation import key_check
    from tasks import installation

    try:
        installation.require()
        key_check.require()
    except ImproperlyConfigured as error:
        raise SystemExit(str(error)) from None
