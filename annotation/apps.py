"""The app of workers and studies; its guards go with every migration."""

from django.apps import AppConfig
from django.db.models.signals import post_migrate, pre_migrate


class AnnotationConfig(AppConfig):
    name = "annotation"

    def ready(self) -> None:
        from annotation import guards, key_check

        pre_migrate.connect(guards.go_with_each_migration, sender=self)
        post_migrate.connect(guards.install_after_migrate, sender=self)
        post_migrate.connect(key_check.store_after_migrate, sender=self)
