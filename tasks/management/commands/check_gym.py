"""Say what a folder in the format of the NLP Few-shot Gym holds; store nothing."""

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from tasks.formats import FormatError
from tasks.gym import catalogue, findings, making, reader
from tasks.gym.making import Seen


class Command(BaseCommand):
    help = (
        "Report on each task in DIR (NAME/NAME_K_SEED_{train,dev,test}.tsv): how it is answered,"
        " how it is scored, and what is odd in its files, by line. Nothing is stored."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("folder", type=Path)
        chosen = parser.add_mutually_exclusive_group()
        chosen.add_argument("--tasks", nargs="+", metavar="NAME", help="only these")
        chosen.add_argument(
            "--partition", choices=sorted(catalogue.partitions()), help="only the tasks of this one"
        )

    def handle(self, *args: Any, folder: Path, **options: Any) -> None:
        seen = self.read(folder, options["tasks"], options["partition"])
        for task in seen:
            self.describe(task)
            for sentence in task.told:
                self.stdout.write(f"  - {sentence}")
        for sentence in findings.shared_inputs([each.task for each in seen]):
            self.stdout.write(sentence)
        self.stdout.write(f"{len(seen)} tasks read.")

    def read(self, folder: Path, tasks: list[str] | None, partition: str | None) -> list[Seen]:
        """All chosen tasks of the folder. Raises CommandError."""
        if not folder.is_dir():
            raise CommandError(f"{folder} is no folder.")
        here = {path.name for path in folder.iterdir() if path.is_dir()}
        names = sorted(tasks or here)
        if partition:
            names = self.of_partition(catalogue.partitions()[partition], here)
        try:
            return [self.see(folder, name) for name in names]
        except FormatError as error:
            raise CommandError(str(error)) from None

    def of_partition(self, partition: catalogue.Partition, here: set[str]) -> list[str]:
        """Say which of its tasks are here; their names."""
        for sentence in findings.of_partition(partition, here):
            self.stdout.write(sentence)
        return [name for name in partition.all if name in here]

    def see(self, folder: Path, name: str) -> Seen:
        """Read one task; raises FormatError."""
        if name in catalogue.tasks() and not (folder / name).is_dir():
            raise CommandError(f"{name}: no such folder in {folder.name}.")
        return making.see(folder / name)

    def describe(self, seen: Seen) -> None:
        """What it is, in a few lines."""
        task, published, kind = seen.task, seen.published, seen.kind
        sizes = " / ".join(str(len(task.lines[task.seeds[0], part])) for part in reader.PARTS)
        self.stdout.write(
            f"{task.name}: {published.ontology}, {published.metric}; K = {task.k},"
            f" {len(task.seeds)} seeds, {sizes} lines to train, develop and test"
        )
        typed = ", or typed" if kind.typed else ""
        self.stdout.write(f"  answered by {kind.name}{typed} ({kind.why})")
        if any(seen.shape.names):
            names = (name or "text" for name in seen.shape.names)
            self.stdout.write("  texts: " + ", ".join(names))
