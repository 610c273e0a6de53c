"""Bring Prolific's statuses over: fit for cron, every few minutes while a study runs."""

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from annotation.models import Study
from annotation.recruiters.prolific.client import ProlificError
from annotation.recruiters.prolific.sync import sync


class Command(BaseCommand):
    help = "Take over statuses from Prolific, free seats, add missing places, bar who may not come."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("study", nargs="*", help="names; without: all studies on Prolific")

    def handle(self, *args: Any, **options: Any) -> None:
        studies = Study.objects.filter(prolific_studies__external_id__isnull=False).distinct()
        if options["study"]:
            studies = studies.filter(name__in=options["study"])
            missing = set(options["study"]) - set(studies.values_list("name", flat=True))
            if missing:
                raise CommandError(f"Not on Prolific: {', '.join(sorted(missing))}")
        failed = False
        for study in studies:
            try:
                done = sync(study)
            except ProlificError as error:
                failed = True
                self.stderr.write(f"{study}: {error}")
                continue
            self.stdout.write(
                f"{study}: {done.submissions} submissions, {done.changed} changed,"
                f" {done.freed} seats freed, {done.places_added} places added,"
                f" {done.barred} people barred"
            )
        if failed:
            raise CommandError("Not everything could be brought over; run it again.")
