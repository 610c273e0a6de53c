"""Set up the webhooks of Prolific for this Handful."""

from argparse import ArgumentParser
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError
from django.urls import reverse

from annotation.recruiters.prolific.client import Client, ProlificError

EVENT = "submission.status.change"


class Command(BaseCommand):
    help = "Ask Prolific to send submission events here; prints the secret to set."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("root", help="Handful's address, such as https://annotate.example.org")

    def handle(self, *args: Any, **options: Any) -> None:
        target = options["root"].rstrip("/") + reverse("prolific_webhook")
        try:
            secret = Client().subscribe(settings.PROLIFIC_WORKSPACE or "default", EVENT, target)
        except ProlificError as error:
            raise CommandError(str(error)) from None
        self.stdout.write(f"export PROLIFIC_WEBHOOK_SECRET={secret}")
