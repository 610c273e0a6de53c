"""Write a study's release bundle and verify it."""

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from analysis.export import publishing, screenshots
from analysis.export.release import ReleaseError, write_release
from analysis.management.commands.export_study import readable


class Command(BaseCommand):
    help = "Write a release bundle, with everything that others need to check and reuse a study."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("name", help="name of the study")
        parser.add_argument("target", type=Path, help="a new or empty folder")
        parser.add_argument(
            "--browser",
            help="Chromium or Chrome, for screenshots of what annotators saw (default: the one on"
            " the path)",
        )
        parser.add_argument("--no-pictures", action="store_true", help="take no screenshots")
        parser.add_argument(
            "--round-times",
            choices=[publishing.HOUR, publishing.DAY],
            default="",
            help="round annotators' times down, so that they cannot be matched with a platform's"
            " log; verify.py lists what it then cannot recompute",
        )
        parser.add_argument(
            "--sign", type=Path, metavar="KEY", help="sign the list of checksums with this SSH key"
        )

    def handle(self, *args: Any, name: str, target: Path, **options: Any) -> None:
        if target.suffix == ".zip":
            raise CommandError(f"{target}: name a folder. The Data page makes a ZIP file.")
        browser = None
        if not options["no_pictures"]:
            browser = options["browser"] or screenshots.browser()
            if browser is None:
                self.stderr.write("No screenshots: Chromium is not on the path (--browser).")
        try:
            report = write_release(
                readable(name),
                target,
                browser,
                self.stderr.write,
                options["sign"],
                options["round_times"],
            )
        except (ReleaseError, OSError) as error:
            raise CommandError(str(error)) from None
        self.stdout.write(report, ending="")
        self.stdout.write(f"Written to {target}. Before you publish it, check the free text")
        self.stdout.write("in decisions.csv, answers.csv, questionnaire.csv and own_answers.csv.")
