"""Export the files of a task, so that a model can be trained on exactly what annotators saw."""

import shutil
import tempfile
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.template.loader import render_to_string

from tasks import data_report
from tasks.exporting import files_of, write_folder
from tasks.formats import SplitFile, content_hash
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
        if folder.exists():
            raise CommandError(f"{folder} already exists; choose a new folder")
        if not folder.parent.is_dir():
            raise CommandError(f"{folder.parent} is not a folder")
        files = files_of(task)
        if content_hash(task.card, files) != task.content_hash:
            raise CommandError(f"{task} differs from the imported task; nothing was written")
        try:
            _write(folder, task, files)
        except OSError as error:
            raise CommandError(str(error)) from None
        examples = sum(len(file.records) for file in files)
        self.stdout.write(
            self.style.SUCCESS(f"{task}: {len(files)} files, {examples:,} examples in {folder}")
        )
        if task.rechained:
            self.stdout.write("Files keep their published numbers. README.md lists the others.")


def _write(folder: Path, task: Task, files: list[SplitFile]) -> None:
    """Write everything to a new folder, or nothing. Raises OSError."""
    part = Path(tempfile.mkdtemp(prefix=f".{folder.name}-", dir=folder.parent))
    made_from = task.report.get("made_from")
    context = {"task": task, "files": files, "made_from": made_from}
    context["origin"] = data_report.origin(made_from) if made_from else ""
    try:
        write_folder(part, task, task.card, files)
        readme = render_to_string("library/exported_task.md", context)
        (part / "README.md").write_text(readme, encoding="utf-8")
        part.chmod(0o755)
        part.rename(folder)
    except BaseException:
        shutil.rmtree(part, ignore_errors=True)
        raise
