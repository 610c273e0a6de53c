"""Import tasks of the NLP Few-shot Gym."""

import secrets
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError

from tasks.cards import CardError
from tasks.formats import FormatError
from tasks.gym import findings
from tasks.gym.making import Made, Sample, Seen, make
from tasks.importing import import_task
from tasks.management.commands import check_gym
from tasks.management.commands.import_clues import account, add_owner, tell
from tasks.management.commands.make_task import pairs


class Command(check_gym.Command):
    help = (
        "Import the tasks in DIR (NAME/NAME_K_SEED_{train,dev,test}.tsv). How each is answered is"
        " inferred and printed; --kind says otherwise. check_gym says the same and stores nothing."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        super().add_arguments(parser)
        parser.add_argument(
            "--kind", nargs="+", default=[], metavar="TASK=KIND", help="how a task is answered"
        )
        parser.add_argument("--test", type=int, help="only so many test examples of each task")
        parser.add_argument(
            "--seed", type=int, help="of that sample; drawn and printed if left out"
        )
        add_owner(parser)

    def handle(self, *args: Any, folder: Path, **options: Any) -> None:
        owner, sample = account(options["owner"]), self._sample(options)
        seen = self.read(folder, options["tasks"], options["partition"])
        made = self._make(seen, pairs(options["kind"], "--kind"), sample)
        for task, one in made:
            self.describe(task)
            tell(self, import_task(one.card, one.files, owner=owner, made_from=one.made_from))
        for sentence in findings.shared_inputs([each.task for each in seen]):
            self.stdout.write(sentence)
        self.stdout.write(f"{len(made)} {'task' if len(made) == 1 else 'tasks'} imported.")

    def _sample(self, options: dict[str, Any]) -> Sample | None:
        size, seed = options["test"], options["seed"]
        if size is None:
            if seed is not None:
                raise CommandError("--seed: says how --test is drawn; give that too.")
            return None
        if size < 1 or (seed is not None and not 0 <= seed < 2**63):
            raise CommandError("--test: expected at least 1; --seed: 0 to 2^63 - 1.")
        return Sample(size, secrets.randbelow(2**31) if seed is None else seed)

    def _make(
        self, seen: list[Seen], kinds: dict[str, str], sample: Sample | None
    ) -> list[tuple[Seen, Made]]:
        """All of them, before the first is stored. Raises CommandError."""
        unknown = sorted(set(kinds) - {each.task.name for each in seen})
        if unknown:
            raise CommandError(f"--kind {unknown[0]}: is none of the tasks that are imported.")
        made = []
        for each in seen:
            try:
                chosen = each.answered_by(kinds.get(each.task.name, each.kind.name))
                made.append((chosen, make(chosen, sample)))
            except (FormatError, CardError) as error:
                raise CommandError(f"Nothing was imported: {error}") from None
        return made
