"""Wiring that must happen once at start."""

from datetime import timedelta
from typing import Any

from django.apps import AppConfig, apps
from django.conf import settings
from django.contrib.staticfiles.apps import StaticFilesConfig
from django.core.management import call_command
from django.db.models.signals import post_migrate


class HandfulConfig(AppConfig):
    name = "config"
    verbose_name = "Handful"

    def ready(self) -> None:
        from config import audit, checks, running_checks, sessions  # noqa: F401
        from tasks import jobs, periodic

        periodic.PARTS["sessions"] = periodic.Part(sessions.prune, every=timedelta(hours=1))
        if settings.CELERY_BROKER_URL:
            jobs.send = send_to_workers
        # This app has no models, and Django sends no signal for such an app.
        post_migrate.connect(create_cache_table, sender=apps.get_app_config("tasks"))


def send_to_workers(job: int, number: int) -> None:
    """As tasks/jobs.py wants it; Celery is imported when there is something to be sent."""
    from config import celery

    celery.send(job, number)


def create_cache_table(using: str, **_kwargs: Any) -> None:
    """The table of the shared cache; does nothing where it is there, or the cache is elsewhere."""
    call_command("createcachetable", database=using, verbosity=0)


class HandfulStaticFilesConfig(StaticFilesConfig):
    """Leaves out what no page asks for: compressing it took most of the first start."""

    ignore_patterns = [*StaticFilesConfig.ignore_patterns, "rest_framework", "redoc", "*es-bundle*"]
