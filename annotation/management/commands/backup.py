"""Back up an installation, except its keys, to a single file."""

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand

from annotation.management import backups


class Command(BaseCommand):
    help = "Back up the database and var/ to FILE, without the keys. The server can keep running."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("file", type=Path)

    def handle(self, *args: Any, file: Path, **options: Any) -> None:
        contents = backups.write(file)
        size = file.stat().st_size / 1e6
        self.stdout.write(
            f"{file}: {size:.1f} MB, {len(contents['sha256'])} files. Store these keys separately:"
        )
        for name, mark in contents["keys"].items():
            self.stdout.write(f"  {name} (fingerprint {mark})")
