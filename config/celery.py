"""Celery, where CELERY_BROKER_URL is set: jobs on workers, and the tick by beat.

`celery -A config.celery worker` and `celery -A config.celery beat`; docs/operating.md says how.
Nothing else imports this module, so that a server without a broker needs no Celery.

A message names a part of a job and nothing more: what is to be done, how often it was begun and
what came of it stands in the database (tasks/jobs.py). So a message that is lost or comes twice
does no harm, and Celery itself repeats nothing: the one policy of repeating is that of jobs.
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
# A message is given to another worker after so long: longer than a part of any job may last.
VISIBILITY = 3600

if not settings.CELERY_BROKER_URL:
    raise ImproperlyConfigured(
        "CELERY_BROKER_URL is not set: there is no queue. Without one, pages and tick run the jobs."
    )

app = Celery("handful", broker=settings.CELERY_BROKER_URL)
app.conf.update(
    task_ignore_result=True,
    task_default_queue="handful",
    # Acknowledged when it is done: the message of a worker that is killed comes again.
    task_acks_late=True,
    task_reject_on_worker_lost=True,
    worker_prefetch_multiplier=1,
    worker_send_task_events=False,
    # A worker waits for its broker for ever; whoever sends gives up at once and says so.
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
        # Of no use once the next is there.
        "tick": {"task": "handful.tick", "schedule": TICK, "options": {"expires": TICK}},
    },
    beat_schedule_filename=str(settings.VAR_DIR / "celery-beat"),
)


@signals.setup_logging.connect
def _leave_the_log(**_sent: object) -> None:
    """settings.LOGGING decides: Celery's own handlers would write links as they are."""


@signals.task_prerun.connect
def _number(task_id: str = "", **_sent: object) -> None:
    """Lines of the log tell tasks apart by the ids that Celery gives them."""
    logs.request_id.set(task_id.replace("-", "")[:12])


@app.task(name="handful.chunk")
def run_chunk(job: int, number: int) -> None:
    """Run that chunk, unless somebody has; then send word of those whose turn it is now."""
    from tasks import jobs
    from tasks.models import Job

    row = Job.objects.filter(pk=job).first()
    if row is None:
        return
    jobs.run_chunk(row, number)
    if Job.objects.filter(pk=job).exists():
        jobs.advance(row)


def send(job: int, number: int) -> None:
    """Send a worker word of a chunk, as tasks/jobs.py wants it. Raises QueueAway."""
    from tasks.jobs import QueueAway

    try:
        run_chunk.delay(job, number)
    except (OperationalError, OSError) as error:
        logger.warning("The broker does not answer: %s", error)
        raise QueueAway from None


@app.task(name="handful.tick")
def tick() -> None:
    """All periodic work that is due, as from cron; one at a time by the rows of its parts."""
    call_command("tick")


@signals.worker_init.connect
def _refuse_what_does_not_fit(**_sent: object) -> None:
    """A worker begins under the conditions of `run_jobs`: its own folder, and the right keys."""
    from annotation import key_check
    from tasks import installation

    try:
        installation.require()
        key_check.require()
    except ImproperlyConfigured as error:
        raise SystemExit(str(error)) from None
