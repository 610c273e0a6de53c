"""Export a study as CSV files with verify.py, or its answers in the format of another tool."""

import hashlib
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from analysis.export import other_tools
from analysis.export.answered import NothingAnswered
from analysis.export.files import SUMS, write_export
from annotation.models import Study
from annotation.protocol import blinding


class Command(BaseCommand):
    help = "Write a study's CSVs to a new folder; `python DIR/verify.py` recomputes them."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("name", help="name of the study")
        parser.add_argument("folder", type=Path, help="a new or empty folder")
        parser.add_argument(
            "--as", dest="form", choices=other_tools.FORMATS,
            help="only the answers, in another tool's format",
        )  # fmt: skip

    def handle(
        self, *args: Any, name: str, folder: Path, form: str | None = None, **options: Any
    ) -> None:
        study = Study.objects.filter(name=name).first()
        if study is None:
            raise CommandError(f"The study {name!r} does not exist.")
        if blinding.are_covered(study):
            raise CommandError(blinding.UNTIL_CLOSED)
        try:
            counts = other_tools.write(study, folder, form) if form else write_export(study, folder)
        except (OSError, NothingAnswered, other_tools.NotInstalled) as error:
            raise CommandError(str(error)) from None
        for file, count in counts.items():
            self.stdout.write(f"{file}: {count} rows")
        if form:
            return
        self.stdout.write(f"To verify them: python {folder / 'verify.py'}")
        digest = hashlib.sha256((folder / SUMS).read_bytes()).hexdigest()
        self.stdout.write(f"SHA-256 of {SUMS} (store it elsewhere): {digest}")
