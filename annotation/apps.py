"""The app of workers and studies; its guards go up after every migrate."""

from django.apps import AppConfig
from django.db.models.signals import post_migrate


class AnnotationConfig(AppConfig):
    name = "annotation"

    def ready(self) -> None:
        from annotation import guards

        post_migrate.connect(guards.install_after_migrate, sender=self)
