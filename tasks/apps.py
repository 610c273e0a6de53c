"""Django app configuration for tasks. Kinds of jobs are registered at startup.

After each migration, the var/ folder is bound to the database.
"""

from django.apps import AppConfig
from django.db.models.signals import post_migrate, pre_migrate


class TasksConfig(AppConfig):
    name = "tasks"

    def ready(self) -> None:
        from tasks import dataset_uploads, installation, upload_jobs  # noqa: F401 (registers kinds of jobs)
        from tasks.predictions import upload_job  # noqa: F401 (the same)

        pre_migrate.connect(installation.refuse_old, sender=self)
        post_migrate.connect(installation.bind_after_migrate, sender=self)
