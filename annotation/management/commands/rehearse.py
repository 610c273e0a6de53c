"""Rehearse three paid studies from an empty database, with a fake Prolific; prints a report."""

import os
import subprocess
import sys
import tempfile
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from annotation.simulation.cast import Failed
from annotation.simulation.rehearsal import Rehearsal


class Command(BaseCommand):
    help = "Forty simulated arrivals, payment and a crash, on a database of its own."
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--here", action="store_true", help="on this (empty) database")

    def handle(self, *args: Any, here: bool, **options: Any) -> None:
        if not here:
            self._on_a_database_of_its_own()
            return
        stage = Rehearsal(self._say)
        try:
            stage.run()
        except Failed as problem:
            raise CommandError(str(problem)) from None
        finally:
            stage.close()
        self._say("The rehearsal ended as it should.")

    def _say(self, line: str) -> None:
        self.stdout.write(line)
        self.stdout.flush()

    def _on_a_database_of_its_own(self) -> None:
        with tempfile.TemporaryDirectory(prefix="handful-rehearsal-") as folder:
            Path(folder, "static").mkdir()
            own = {
                "HANDFUL_VAR": folder,
                "DATABASE_URL": f"sqlite:///{folder}/rehearsal.sqlite3",
                "STATIC_ROOT": f"{folder}/static",
            }
            done = subprocess.run(
                [sys.executable, "manage.py", "rehearse", "--here"],
                cwd=settings.BASE_DIR,
                env=os.environ | own,
            )
        if done.returncode:
            raise CommandError("The rehearsal failed.")
