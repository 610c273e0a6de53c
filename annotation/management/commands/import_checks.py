"""Attach attention checks to a task."""

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from annotation.steps.attention_checks import import_checks
from tasks.formats import FormatError
from tasks.models import Task


class Command(BaseCommand):
    help = "Attach a JSON Lines file of attention checks to the newest version of a task."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("task")
        parser.add_argument("file", type=Path)

    def handle(self, *args: Any, **options: Any) -> None:
        task = Task.objects.latest_versions().filter(name=options["task"]).first()
        if task is None:
            raise CommandError(f"There is no task {options['task']}.")
        try:
            split = import_checks(task, options["file"])
        except (FormatError, OSError) as error:
            raise CommandError(str(error)) from None
        self.stdout.write(f"{split.examples.count()} attention checks attached to {task}.")
