"""Bring Prolific's statuses over: fit for cron, every few minutes while a study runs."""

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from annotation import key_check
from annotation.models import Study
from annotation.platforms.prolific import every
from annotation.platforms.prolific.errors import ProlificError
from annotation.platforms.prolific.rows import Synced
from annotation.platforms.prolific.sync import sync
from annotation.platforms.prolific.webhook import handle_events


class Command(BaseCommand):
    help = (
        "Sync with Prolific: process events, update statuses, free seats, confirm arrivals, add"
        " missing places, pause and start studies, update blocklists."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("study", nargs="*", help="names; without: all studies on Prolific")
        parser.add_argument(
            "--events",
            action="store_true",
            help="only what webhooks reported: suitable for every minute",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        key_check.require_for_command()
        studies = every.to_sync()
        if options["study"]:
            studies = Study.objects.filter(prolific_studies__external_id__isnull=False).distinct()
            studies = studies.filter(name__in=options["study"])
            missing = set(options["study"]) - set(studies.values_list("name", flat=True))
            if missing:
                raise CommandError(f"Not on Prolific: {', '.join(sorted(missing))}")
        failed = self._run("events", handle_events)
        for study in () if options["events"] else studies:
            failed |= self._run(study, lambda study=study: sync(study, patient=True))
        if failed:
            raise CommandError("Not everything could be synced; run it again.")

    def _run(self, what: object, work: Any) -> bool:
        """Do it, say what was done and what not; whether something could not be done."""
        try:
            done: Synced = work()
        except ProlificError as error:
            self.stderr.write(f"{what}: {error}")
            return True
        self.stdout.write(f"{what}: {done}")
        for problem in done.problems:
            self.stderr.write(f"{what}: {problem}")
        return bool(done.problems)
