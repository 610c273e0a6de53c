"""Import tasks from the NLP Few-shot Gym."""

import secrets
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from tasks.cards import CardError
from tasks.formats import FormatError
from tasks.gym import catalogue, findings, making, reader
from tasks.gym.making import Made, Sample, Seen, make
from tasks.importing import import_task
from tasks.management.commands.import_clues import account, add_owner, tell
from tasks.management.commands.make_task import pairs


class Command(BaseCommand):
    help = (
        "Import the tasks in DIR (NAME/NAME_K_SEED_{train,dev,test}.tsv). The answer type is"
        " inferred and printed; --kind overrides it. --dry-run only reports irregular lines in the"
        " files and stores nothing."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("folder", type=Path)
        chosen = parser.add_mutually_exclusive_group()
        chosen.add_argument("--tasks", nargs="+", metavar="NAME", help="only these tasks")
        chosen.add_argument(
            "--partition", choices=sorted(catalogue.partitions()), help="only its tasks"
        )
        parser.add_argument(
            "--dry-run", action="store_true", help="print everything and store nothing"
        )
        parser.add_argument(
            "--kind", nargs="+", default=[], metavar="TASK=KIND", help="answer type of a task"
        )
        parser.add_argument("--test", type=int, help="number of test examples per task")
        parser.add_argument("--seed", type=int, help="seed of this sample (default: random)")
        add_owner(parser)

    def handle(self, *args: Any, folder: Path, **options: Any) -> None:
        owner, sample = account(options["owner"]), self._sample(options)
        seen = self._read(folder, options["tasks"], options["partition"])
        if options["dry_run"]:
            for each in seen:
                self._describe(each)
                for sentence in each.told:
                    self.stdout.write(f"  - {sentence}")
        else:
            for each, made in self._make(seen, pairs(options["kind"], "--kind"), sample):
                self._describe(each)
                done = import_task(made.card, made.files, owner=owner, made_from=made.made_from)
                tell(self, done)
        for sentence in findings.shared_inputs([each.task for each in seen]):
            self.stdout.write(sentence)
        what = "read" if options["dry_run"] else "imported"
        self.stdout.write(f"{len(seen)} {'task' if len(seen) == 1 else 'tasks'} {what}.")

    def _sample(self, options: dict[str, Any]) -> Sample | None:
        size, seed = options["test"], options["seed"]
        if size is None:
            if seed is not None:
                raise CommandError("--seed has no effect without --test. Set --test too.")
            return None
        if size < 1 or (seed is not None and not 0 <= seed < 2**63):
            raise CommandError("--test must be at least 1, and --seed between 0 and 2^63 - 1.")
        return Sample(size, secrets.randbelow(2**31) if seed is None else seed)

    def _make(
        self, seen: list[Seen], kinds: dict[str, str], sample: Sample | None
    ) -> list[tuple[Seen, Made]]:
        """Make all tasks before the first one is stored. Raises CommandError."""
        unknown = sorted(set(kinds) - {each.task.name for each in seen})
        if unknown:
            raise CommandError(f"--kind {unknown[0]} is not one of the imported tasks.")
        made = []
        for each in seen:
            try:
                chosen = each.answered_by(kinds.get(each.task.name, each.kind.name))
                made.append((chosen, make(chosen, sample)))
            except (FormatError, CardError) as error:
                raise CommandError(f"Nothing was imported: {error}") from None
        return made

    def _read(self, folder: Path, tasks: list[str] | None, partition: str | None) -> list[Seen]:
        """Read all selected tasks in the folder. Raises CommandError."""
        if not folder.is_dir():
            raise CommandError(f"{folder} is not a folder.")
        here = {path.name for path in folder.iterdir() if path.is_dir()}
        names = sorted(tasks or here)
        if partition:
            chosen = catalogue.partitions()[partition]
            for sentence in findings.of_partition(chosen, here):
                self.stdout.write(sentence)
            names = [name for name in chosen.all if name in here]
        try:
            return [self._see(folder, name) for name in names]
        except FormatError as error:
            raise CommandError(str(error)) from None

    def _see(self, folder: Path, name: str) -> Seen:
        """Read one task. Raises FormatError, or CommandError for a missing folder."""
        if name in catalogue.tasks() and not (folder / name).is_dir():
            raise CommandError(f"{name}: folder not found in {folder.name}.")
        return making.see(folder / name)

    def _describe(self, seen: Seen) -> None:
        task, published, kind = seen.task, seen.published, seen.kind
        sizes = " / ".join(str(len(task.lines[task.seeds[0], part])) for part in reader.PARTS)
        self.stdout.write(
            f"{task.name}: {published.ontology}, {published.metric}; K = {task.k},"
            f" {len(task.seeds)} seeds, {sizes} lines in train, dev and test"
        )
        typed = ", or typed" if kind.typed else ""
        self.stdout.write(f"  answered by {kind.name}{typed} ({kind.why})")
        if any(seen.shape.names):
            names = (name or "text" for name in seen.shape.names)
            self.stdout.write("  texts: " + ", ".join(names))
