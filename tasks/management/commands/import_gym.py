"""Import tasks from the NLP Few-shot Gym."""

import secrets
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from tasks.cards import CardError
from tasks.datasets.making import Made
from tasks.formats import FormatError
from tasks.gym import catalogue, findings, making, reader
from tasks.gym.making import Sample, Source, make
from tasks.importing import import_task
from tasks.management.commands.import_clues import account, add_owner, print_result
from tasks.management.commands.make_task import pairs


class Command(BaseCommand):
    help = (
        "Import Few-shot Gym tasks from a folder (NAME/NAME_K_SEED_{train,dev,test}.tsv). The"
        " command infers and prints the answer type of each task, which --kind overrides. With"
        " --dry-run, it also reports irregular lines, but stores nothing."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("folder", type=Path)
        selection = parser.add_mutually_exclusive_group()
        selection.add_argument("--tasks", nargs="+", metavar="NAME", help="import only these tasks")
        selection.add_argument(
            "--partition", choices=sorted(catalogue.partitions()), help="import only its tasks"
        )
        parser.add_argument(
            "--dry-run", action="store_true", help="print what would be imported, and store nothing"
        )
        parser.add_argument(
            "--kind", nargs="+", default=[], metavar="TASK=KIND", help="answer type of a task"
        )
        parser.add_argument("--test", type=int, help="number of test examples per task")
        parser.add_argument("--seed", type=int, help="seed for sampling them (default: random)")
        add_owner(parser)

    def handle(self, *args: Any, folder: Path, **options: Any) -> None:
        owner, sample = account(options["owner"]), self._sample(options)
        sources = self._read(folder, options["tasks"], options["partition"])
        if options["dry_run"]:
            for source in sources:
                self._describe(source)
                for note in source.notes:
                    self.stdout.write(f"  - {note}")
        else:
            for source, task in self._make(sources, pairs(options["kind"], "--kind"), sample):
                self._describe(source)
                result = import_task(task.card, task.files, owner=owner, made_from=task.made_from)
                print_result(self, result)
        for note in findings.shared_inputs([source.task for source in sources]):
            self.stdout.write(note)
        action = "read" if options["dry_run"] else "imported"
        self.stdout.write(f"{len(sources)} {'task' if len(sources) == 1 else 'tasks'} {action}.")

    def _sample(self, options: dict[str, Any]) -> Sample | None:
        size, seed = options["test"], options["seed"]
        if size is None:
            if seed is not None:
                raise CommandError("--seed has no effect without --test. Set both, or neither.")
            return None
        if size < 1 or (seed is not None and not 0 <= seed < 2**63):
            raise CommandError("--test must be at least 1, and --seed from 0 to 2^63 - 1.")
        return Sample(size, secrets.randbelow(2**31) if seed is None else seed)

    def _make(
        self, sources: list[Source], kinds: dict[str, str], sample: Sample | None
    ) -> list[tuple[Source, Made]]:
        """Make all tasks before the first one is stored. Raises CommandError."""
        unknown = sorted(set(kinds) - {source.task.name for source in sources})
        if unknown:
            raise CommandError(f"--kind {unknown[0]} is not one of the imported tasks.")
        results = []
        for source in sources:
            try:
                answered = source.answered_by(kinds.get(source.task.name, source.kind.name))
                results.append((answered, make(answered, sample)))
            except (FormatError, CardError) as error:
                raise CommandError(f"Nothing was imported: {error}") from None
        return results

    def _read(self, folder: Path, tasks: list[str] | None, partition: str | None) -> list[Source]:
        """Read all selected tasks in the folder. Raises CommandError."""
        if not folder.is_dir():
            raise CommandError(f"{folder} is not a folder.")
        present = {p.name for p in folder.iterdir() if p.is_dir() and not p.name.startswith(".")}
        names = sorted(set(tasks or present))
        if partition:
            selected = catalogue.partitions()[partition]
            for note in findings.partition_findings(selected, present):
                self.stdout.write(note)
            names = [name for name in selected.all if name in present]
        if not names:
            raise CommandError(f"{folder} does not contain the folder of any task.")
        try:
            return [making.read_source(folder / name) for name in names]
        except FormatError as error:
            raise CommandError(str(error)) from None
        except (FileNotFoundError, NotADirectoryError) as error:
            name = Path(error.filename).name
            raise CommandError(f"{name}: folder not found in {folder.name}.") from None

    def _describe(self, source: Source) -> None:
        task, published, kind = source.task, source.published, source.kind
        sizes = " / ".join(str(len(task.lines[task.seeds[0], part])) for part in reader.PARTS)
        self.stdout.write(
            f"{task.name}: {published.ontology}, {published.metric}; K = {task.k},"
            f" {len(task.seeds)} seeds, {sizes} lines in train, dev and test"
        )
        typed = ", or typed" if kind.typed else ""
        self.stdout.write(f"  answered by {kind.name}{typed} ({kind.reason})")
        if any(source.shape.names):
            names = (name or "text" for name in source.shape.names)
            self.stdout.write("  texts: " + ", ".join(names))
