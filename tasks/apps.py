"""The app of tasks; after every migrate its folder is bound to its database."""

from django.apps import AppConfig
from django.db.models.signals import post_migrate, pre_migrate


class TasksConfig(AppConfig):
    name = "tasks"

    def ready(self) -> None:
        from tasks import installation, retired

        pre_migrate.connect(retired.refuse_migration, sender=self)
        post_migrate.connect(installation.bind_after_migrate, sender=self)
