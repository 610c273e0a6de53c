"""The app of workers and studies: its guards go with migrations, its sweep with run_jobs."""

from django.apps import AppConfig
from django.db.models.signals import post_migrate, pre_migrate


class AnnotationConfig(AppConfig):
    name = "annotation"

    def ready(self) -> None:
        from annotation import audited, guards, key_check  # noqa: F401  # it listens
        from annotation.notices import sending, webhooks
        from annotation.recruitment import expiry
        from tasks import jobs

        pre_migrate.connect(guards.go_with_each_migration, sender=self)
        post_migrate.connect(guards.install_after_migrate, sender=self)
        post_migrate.connect(key_check.store_after_migrate, sender=self)
        jobs.CONDITIONS.append(key_check.require_for_command)
        jobs.SWEEPS += [expiry.sweep, webhooks.collect, sending.send_due]
        jobs.MODULES["simulate"] = "annotation.simulation.rehearsal_job"
