"""Delete the identities of one study's annotators, or those of every study that is due."""

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from annotation import key_check
from annotation.models import Study
from annotation.privacy import erasure
from annotation.recruitment import identities


class Command(BaseCommand):
    help = "Delete the ids of a study's annotators. The keyed hashes that exclude them remain."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("study", nargs="?", help="name of the study")
        parser.add_argument(
            "--due",
            action="store_true",
            help="all studies past their deletion date; also deletes studies that are due",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        key_check.require_for_command()
        if options["due"] == bool(options["study"]):
            raise CommandError("Set either a study or --due.")
        if options["due"]:
            for name, what in erasure.delete_due():
                self.stdout.write(f"{name}: {what}")
            return
        study = Study.objects.filter(name=options["study"]).first()
        if study is None:
            raise CommandError(f"The study {options['study']} does not exist.")
        try:
            count = identities.purge(study)
        except identities.PurgeError as error:
            raise CommandError(str(error)) from None
        self.stdout.write(f"{count} identities deleted.")
