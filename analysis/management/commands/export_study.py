"""Export a study as CSV files with verify.py, or its answers in another tool's format."""

from argparse import ArgumentParser
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from analysis.export import files, other_tools
from annotation.models import Study
from annotation.protocol import blinding

# Maps each format to the function that writes it and to the optional package that it requires.
FORMATS = {
    "inspect": (other_tools.write_inspect_logs, "inspect-ai"),
    "lm-eval": (other_tools.write_harness_samples, ""),
}


def readable(name: str) -> Study:
    """Return the study with this name. Raises CommandError while its scores are hidden."""
    study = Study.objects.filter(name=name).first()
    if study is None:
        raise CommandError(f"The study {name!r} does not exist.")
    if blinding.are_covered(study):
        raise CommandError(blinding.UNTIL_CLOSED)
    return study


class Command(BaseCommand):
    help = "Write a study as CSV files to a new folder, with verify.py to recompute its results."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("name", help="name of the study")
        parser.add_argument("folder", type=Path, help="a new or empty folder")
        parser.add_argument(
            "--as", dest="form", choices=FORMATS,
            help="write only the answers, in another tool's format",
        )  # fmt: skip

    def handle(
        self, *args: Any, name: str, folder: Path, form: str | None = None, **options: Any
    ) -> None:
        study = readable(name)
        write, package = FORMATS[form] if form else (None, "")
        if package and find_spec(package.replace("-", "_")) is None:
            raise CommandError(f"--as {form} requires {package}. Run pip install {package}.")
        try:
            if write:
                with files.whole_folder(folder) as building, files.snapshot():
                    counts = write(study, building)
            else:
                counts = files.write_export(study, folder)
        except (OSError, other_tools.NothingAnswered) as error:
            raise CommandError(str(error)) from None
        for file, count in counts.items():
            self.stdout.write(f"{file}: {count} rows")
        if form:
            return
        self.stdout.write(f"To verify them: python {folder / 'verify.py'}")
        digest = files.sha256(folder / files.SUMS)
        self.stdout.write(f"SHA-256 of {files.SUMS} (store it in another place): {digest}")
