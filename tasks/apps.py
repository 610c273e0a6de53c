"""The app of tasks; after every migrate its folder is bound to its database."""

from django.apps import AppConfig
from django.db.models.signals import post_migrate


class TasksConfig(AppConfig):
    name = "tasks"

    def ready(self) -> None:
        from tasks import installation

        post_migrate.connect(installation.bind_after_migrate, sender=self)
