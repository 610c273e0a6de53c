"""Celery, if CELERY_BROKER_URL is set: jobs run on workers, and beat runs the tick.

`celery -A config.celery worker` and `celery -A config.celery beat`; see docs/operating.md. Only
apps.py imports this module, and only to send a job: a server without a broker needs no Celery.

A message contains only a job number and a chunk number: the work, its attempts and its result are
in the database (tasks/jobs.py). So lost or repeated messages are harmless, and Celery never retries
anything; jobs do.
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
# A message is redelivered after this time: longer than any chunk of a job may take.
VISIBILITY = 3600

if not settings.CELERY_BROKER_URL:
    raise ImproperlyConfigured(
        "CELERY_BROKER_URL is not set, so no queue exists. Pages and tick run the jobs."
    )

app = Celery("handful", broker=settings.CELERY_BROKER_URL)
app.conf.update(
    task_ignore_result=True,
    task_default_queue="handful",
    # Acknowledge when done, so that a killed worker's message is redelivered.
    task_acks_late=True,
    task_reject_on_worker_lost=True,
    worker_prefetch_multiplier=1,
    worker_send_task_events=False,
    # A worker waits for its broker indefinitely; a sender fails at once.
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
        # A tick is useless once the next one is due.
        "tick": {"task": "handful.tick", "schedule": TICK, "options": {"expires": TICK}},
    },
    beat_schedule_filename=str(settings.VAR_DIR / "celery-beat"),
)


@signals.setup_logging.connect
def _leave_the_log(**_sent: object) -> None:
    """Keep settings.LOGGING: Celery's own handlers would log links with their secrets."""


@signals.task_prerun.connect
def _number(task_id: str = "", **_sent: object) -> None:
    """Identify tasks in the log by their Celery IDs."""
    logs.request_id.set(task_id.replace("-", "")[:12])


@app.task(name="handful.chunk")
def run_chunk(job: int, number: int) -> None:
    """Run the chunk if it is not done, then enqueue the next ones."""
    from tasks import jobs
    from tasks.models import Job

    row = Job.objects.filter(pk=job).first()
    if row is None:
        return
    jobs.run_chunk(row, number)
    if Job.objects.filter(pk=job).exists():
        jobs.advance(row)


def send(job: int, number: int) -> None:
    """Enqueue a chunk for the workers, as `send` in tasks/jobs.py. Raises QueueAway."""
    from tasks.jobs import QueueAway

    try:
        run_chunk.delay(job, number)
    except (OperationalError, OSError) as error:
        logger.warning("The broker does not respond: %s", error)
        raise QueueAway from None


@app.task(name="handful.tick")
def tick() -> None:
    """Run all periodic work that is due, as cron would; row locks prevent overlaps."""
    call_command("tick")


@signals.worker_init.connect
def _refuse_what_does_not_fit(**_sent: object) -> None:
    """Check the folder and the keys before a worker starts, as `run_jobs` does."""
    from annotation import key_check
    from tasks import installation

    try:
        installation.require()
        key_check.require()
    except ImproperlyConfigured as error:
        raise SystemExit(str(error)) from None
