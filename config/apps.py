"""App configuration that runs once at startup."""

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
        from config import audit, checks, sessions  # noqa: F401
        from tasks import jobs, periodic

        periodic.PARTS["sessions"] = periodic.Part(sessions.prune, interval=timedelta(hours=1))
        if settings.CELERY_BROKER_URL:
            jobs.send = send_to_workers
        # This app has no models, so Django does not send post_migrate for it.
        post_migrate.connect(create_cache_table, sender=apps.get_app_config("tasks"))


def send_to_workers(job: int, number: int) -> None:
    """Send a chunk of a job to Celery, which is only imported when used."""
    from config import celery

    celery.send(job, number)


def create_cache_table(using: str, **_kwargs: Any) -> None:
    """Create the shared cache table if the cache is in the database and has no table yet."""
    call_command("createcachetable", database=using, verbosity=0)


class HandfulStaticFilesConfig(StaticFilesConfig):
    """Exclude static files that are never used. Compressing them would slow the first startup."""

    ignore_patterns = [*StaticFilesConfig.ignore_patterns, "rest_framework", "redoc", "*es-bundle*"]
