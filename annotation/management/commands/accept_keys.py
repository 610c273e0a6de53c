"""Accept the current keys after the previous ones were lost."""

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand

from annotation import key_check

MEANS = """\
With another WORKER_KEY nobody who came before is known any more: they can take their tasks again.
With another IDENTITY_KEY the ids that are stored cannot be read. Whoever is not paid yet can get an
approval on Prolific, where their submission is found by its hash if WORKER_KEY is as before, and
anything else by hand alone, if you know who they are.
Call this again with --yes if that is what you want."""


class Command(BaseCommand):
    help = "Accept the current keys, after the previous ones were lost."
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--yes", action="store_true", help="I have read the consequences")

    def handle(self, *args: Any, **options: Any) -> None:
        sentence = key_check.wrong()
        if not sentence:
            self.stdout.write("The keys match the data: there is nothing to accept.")
        elif not options["yes"]:
            self.stdout.write(f"{sentence}\n{MEANS}")
        else:
            key_check.accept(*key_check.NAMES)
            self.stdout.write("The current keys were accepted.")
