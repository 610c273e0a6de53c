"""App configuration: registers platform adapters, guards, key checks, and parts of `tick`."""

from datetime import timedelta

from django.apps import AppConfig
from django.db.models.signals import post_migrate, pre_migrate


class AnnotationConfig(AppConfig):
    name = "annotation"

    def ready(self) -> None:
        from annotation import guards, guards_in_migrations, key_check
        from annotation.audit import log as _audited  # noqa: F401  # has signal handlers
        from annotation.notices import collecting, webhooks
        from annotation.pay import budget
        from annotation.privacy import erasure
        from annotation.prolific import adapter as prolific_adapter
        from annotation.prolific import sync as prolific_sync
        from annotation.recruitment import links, panel, platform_adapters, seats
        from tasks import jobs, periodic

        platform_adapters.ADAPTERS += [
            links.OpenLink, links.PersonalLinkAdapter, panel.PanelAdapter,
            prolific_adapter.ProlificAdapter, links.SimulatedLink, links.ModelAdapter,
        ]  # fmt: skip
        budget.anonymous_platforms = platform_adapters.adapters_with(
            "anonymous", "participation__worker__platform"
        )
        pre_migrate.connect(guards_in_migrations.go_with_each_migration, sender=self)
        post_migrate.connect(guards.install_after_migrate, sender=self)
        post_migrate.connect(key_check.store_after_migrate, sender=self)
        jobs.CONDITIONS.append(key_check.require_for_command)
        periodic.PARTS |= {
            "seats": periodic.Part(seats.sweep),
            "notices": periodic.Part(collecting.collect),
            "old notices": periodic.Part(collecting.prune, interval=timedelta(days=1)),
            "identities": periodic.Part(erasure.delete_due, interval=timedelta(hours=1)),
        }
        # Parts that call other servers run after the local ones. Webhooks come last, because the
        # servers that receive them may be anyone's.
        ask_others = {
            "mail": periodic.Part(collecting.send_mails),
            "platforms": periodic.Part(
                prolific_sync.sync_all, limit=timedelta(minutes=30), interval=timedelta(minutes=5)
            ),
        }
        receivers = {"webhooks": periodic.Part(webhooks.collect_and_send)}
        periodic.LAST = ask_others | periodic.LAST | receivers
        jobs.MODULES["simulate"] = "annotation.simulation.simulated_annotators"
