"""Export the files of a task, so that a model can be trained on exactly what annotators saw."""

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from tasks.exporting import ExportError, export
from tasks.models import Task


class Command(BaseCommand):
    help = "Write the newest version of the task NAME to DIR, in the layout of published files."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("name")
        parser.add_argument("folder", type=Path, help="a new folder")
        parser.add_argument("--task-version", type=int, help="default: the newest")

    def handle(self, *args: Any, name: str, folder: Path, **options: Any) -> None:
        versions = Task.objects.filter(name=name)
        if options["task_version"]:
            versions = versions.filter(version=options["task_version"])
        task = versions.order_by("-version").first()
        if task is None:
            names = ", ".join(task.name for task in Task.objects.latest_versions()) or "none yet"
            raise CommandError(f"The task {name} does not exist. The imported tasks are: {names}.")
        try:
            files = export(task, folder)
        except (ExportError, OSError) as error:
            raise CommandError(str(error)) from None
        examples = sum(len(file.records) for file in files)
        self.stdout.write(
            self.style.SUCCESS(f"{task}: {len(files)} files, {examples:,} examples in {folder}")
        )
        if task.rechained:
            self.stdout.write("Files keep their published numbers. README.md lists the others.")
