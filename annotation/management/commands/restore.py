"""Restore a backup to an empty installation, and check the result."""

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.db import connection

from annotation import guards, key_check
from annotation.management import backups


class Command(BaseCommand):
    help = "Restore the backup FILE to an empty database and var/. The keys must be restored first."
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("file", type=Path)

    def handle(self, *args: Any, file: Path, **options: Any) -> None:
        if not file.is_file():
            raise CommandError(f"{file} does not exist.")
        contents = backups.restore(file)
        self.stdout.write(f"Restored Handful {contents['handful']} from {contents['made_at']}.")
        missing = guards.missing(connection)
        if missing:
            self.stdout.write(f"Guards are missing: {', '.join(missing)}. Run manage.py migrate.")
        if problem := key_check.problem():
            self.stdout.write(problem)
        self.stdout.write("If this version is newer, run manage.py migrate. Then start the server.")
