"""Accept the current keys if the previous ones are lost."""

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand

from annotation import key_check

MEANS = """\
With a new WORKER_KEY, earlier annotators are not recognised and can do their tasks again.
With a new IDENTITY_KEY, stored ids cannot be read. If WORKER_KEY is unchanged, you can still
approve unpaid annotators on Prolific, because their submissions are found by hash. You have to
make all other payments manually, if you know who the annotators are.
To accept the new keys, run this command again with --yes."""


class Command(BaseCommand):
    help = "Accept the current keys if the previous ones are lost."
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--yes", action="store_true", help="accept the consequences")

    def handle(self, *args: Any, **options: Any) -> None:
        problem = key_check.problem()
        if not problem:
            self.stdout.write("The keys match the data, so there is nothing to accept.")
        elif not options["yes"]:
            self.stdout.write(f"{problem}\n{MEANS}")
        else:
            key_check.accept(*key_check.NAMES)
            self.stdout.write("The current keys were accepted.")
