"""Run the fake Prolific beside Handful, to rehearse a paid study without people and money."""

import signal
import threading
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from annotation.simulation.fake_prolific.platform import FakeProlific


class Command(BaseCommand):
    help = "Serve a fake Prolific on this machine: its API, its study links, a page to rehearse by."
    requires_system_checks: list[str] = []  # it needs no database

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--port", type=int, default=8100, help="0 is any free one")
        parser.add_argument("--token", default="fake-token", help="what its API asks for")
        parser.add_argument("--state", type=Path, help="keep its books in this JSON file")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            fake = FakeProlific(token=options["token"], state=options["state"])
            server = fake.serve(options["port"])
        except (OSError, ValueError, KeyError) as error:
            raise CommandError(f"The fake Prolific cannot start: {error!r}") from None
        self.stdout.write(
            f"A fake Prolific at {server.url}/: open it to take part. Ctrl-C ends it.\n"
            "Let Handful speak to it instead of to Prolific:\n"
            f"  export PROLIFIC_URL={server.url} PROLIFIC_APP_URL={server.url}"
            f" PROLIFIC_TOKEN={fake.token}"
        )
        self.stdout.flush()
        ended = threading.Event()
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, lambda *_: ended.set())
        ended.wait()
        server.close()
