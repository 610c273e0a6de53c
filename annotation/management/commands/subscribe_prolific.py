"""Set up Prolific's webhooks for this installation."""

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.urls import reverse

from annotation import key_check
from annotation.prolific.client import Client
from annotation.prolific.errors import ProlificError

EVENT = "submission.status.change"


class Command(BaseCommand):
    help = "Subscribe this server to submissions on Prolific, and print the secret to configure."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("root", help="URL of this server, such as https://annotate.example.org")
        parser.add_argument(
            "--replace-secret",
            action="store_true",
            help="create a new secret; other programs in the workspace can then no longer verify"
            " their events",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        key_check.require_for_command()
        target = options["root"].rstrip("/") + reverse("prolific_webhook")
        try:
            client = Client(patient=True)
            workspace = client.workspace()
            # All programs in a workspace share one secret, so don't replace an existing one.
            secret = "" if options["replace_secret"] else client.secret(workspace)
            if secret:
                self.stderr.write(
                    "The workspace already has a secret, which other programs may use. It was kept."
                )
            else:
                secret = client.replace_secret(workspace)
            if client.is_subscribed(workspace, EVENT, target):
                self.stderr.write(f"Prolific already sends events to {target}.")
            else:
                client.subscribe(workspace, EVENT, target)
        except ProlificError as error:
            raise CommandError(str(error)) from None
        self.stdout.write(f"export PROLIFIC_WEBHOOK_SECRET={secret}")
