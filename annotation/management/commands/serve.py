"""Serve Handful in production (docs/operating.md#deploy)."""

import gc
from argparse import ArgumentParser
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError
from django.core.servers.basehttp import get_internal_wsgi_application
from granian import Granian
from granian.constants import Interfaces
from granian.log import LogLevels


class Command(BaseCommand):
    help = "Serve Handful in production, with granian behind a proxy."
    requires_system_checks = []  # config/wsgi.py refuses to start if data could be damaged

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--host", default="127.0.0.1")
        parser.add_argument("--port", type=int, default=8000)
        parser.add_argument("--workers", type=int, default=2, help="processes")
        parser.add_argument("--threads", type=int, default=4, help="of each process")

    def handle(
        self, *args: Any, host: str, port: int, workers: int, threads: int, **options: Any
    ) -> None:
        get_internal_wsgi_application()  # forked workers share the memory of current imports
        gc.freeze()  # keeps the garbage collector from writing to that memory
        server = Granian(
            ":".join(settings.WSGI_APPLICATION.rsplit(".", 1)), host, port,
            interface=Interfaces.WSGI, workers=workers, blocking_threads=threads,
            respawn_failed_workers=True, websockets=False,
            log_level=LogLevels.info if options["verbosity"] else LogLevels.warning,
        )  # fmt: skip
        try:
            server.serve()
        except (OverflowError, RuntimeError, ValueError) as error:  # raised for the socket
            expected = "an IP address of this machine, and a port from 1 to 65535"
            message = f"Cannot listen on {host}, port {port}: expected {expected}."
            raise CommandError(message) from error
