"""Make a task from a labelled dataset by assigning roles to columns and drawing examples."""

import json
import secrets
from argparse import ArgumentParser, _ActionsContainer
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from tasks.cards import FAMILIES, CardError
from tasks.datasets import making
from tasks.datasets.kinds import ANSWERS, Columns, check_kind
from tasks.datasets.making import Made, Plan, TaskSpec, make, name_of
from tasks.datasets.reading import Reading
from tasks.formats import FormatError
from tasks.importing import import_task
from tasks.management.commands.import_clues import account, add_owner, print_result
from tasks.metrics import GOLD_RULES, METRICS
from tasks.tokens import GRANULARITIES

TEXTS = ("title", "description", "instructions", "submit_hint", "language", "source", "licence",
         "domain")  # fmt: skip
# Keys of the card, with the details of their options.
CARD_OPTIONS: dict[str, dict[str, Any]] = {
    **{key: {} for key in TEXTS},
    "segments": {"nargs": "+", "help": "titles of the texts"},
    "family": {"choices": FAMILIES},
    "gold_rule": {"choices": GOLD_RULES},
    "granularity": {"choices": GRANULARITIES},
    "max_spans": {"type": int},
    "typed": {"action": "store_true", "default": None, "help": "spans may also be typed"},
    "lowest": {"type": float, "help": "only for numbers"},
    "highest": {"type": float, "help": "only for numbers"},
    "step": {"type": float, "help": "only for numbers"},
    "unit": {"help": "only for numbers"},
    "longest": {"type": int, "help": "maximum length of a typed text"},
    "words": {"type": int, "nargs": 2, "help": "words of a long text: from, to"},
    "metric": {"choices": METRICS, "help": "metric of the task (default: S1)"},
}


def pairs(values: list[str], option: str) -> dict[str, str]:
    """Parse VALUE=NAME pairs with distinct values. Raises CommandError."""
    names: dict[str, str] = {}
    for text in values:
        value, sign, name = text.partition("=")
        if not sign or not value or value in names:
            raise CommandError(f"{option} {text}: expected VALUE=TEXT, with each value once")
        names[value] = name
    return names


def _add_options(parser: _ActionsContainer, declaration: type[Any]) -> None:
    """Add the options that are fields of a dataclass, with their help in its metadata."""
    for name, field in declaration.__dataclass_fields__.items():
        if details := dict(field.metadata):
            if field.default is False:
                details["action"] = "store_true"
            elif field.default == ():
                details |= {"nargs": "+", "default": []}
            else:
                details["default"] = field.default
            parser.add_argument(f"--{name.replace('_', '-')}", **details)


class Command(BaseCommand):
    help = "Make a task from a labelled dataset in CSV, TSV, XLSX, JSON, JSON Lines, Parquet or"
    help += " CoNLL, or from doccano or Label Studio."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("file", type=Path)
        parser.add_argument("--name", default="", help="task name (default: the file name)")
        kinds = ", ".join(ANSWERS)
        parser.add_argument("--as", dest="kind", required=True, help=f"answer type: {kinds}")
        _add_options(parser, Columns)
        parser.add_argument("--label", nargs="+", default=[], metavar="VALUE=NAME")
        parser.add_argument("--define", nargs="+", default=[], metavar="NAME=DEFINITION")
        group = parser.add_argument_group("sampling")
        group.add_argument("--shots", type=int, nargs="+", default=[10, 20, 30])
        group.add_argument("--splits", type=int, default=5)
        group.add_argument("--test", type=int, default=200, help="number of test examples")
        group.add_argument("--seed", type=int, help="default: random, and printed")
        group.add_argument("--dry-run", action="store_true", help="print a report, store nothing")
        group = parser.add_argument_group("card")
        for key, details in CARD_OPTIONS.items():
            group.add_argument(f"--{key.replace('_', '-')}", **details)
        _add_options(parser.add_argument_group("file format"), Reading)
        add_owner(parser)

    def handle(self, *args: Any, file: Path, **options: Any) -> None:
        try:
            check_kind(options["kind"])
            options["name"] = options["name"] or name_of(file)
            task = make(file, self._spec(file, options))
        except (FormatError, CardError) as error:
            raise CommandError(f"Nothing was imported: {error}") from None
        self._print_summary(task)
        if options["dry_run"]:
            for record in task.files[0].records[:10]:
                self.stdout.write(json.dumps(making.line(record), ensure_ascii=False))
            self.stdout.write("Nothing was stored (--dry-run).")
            return
        owner = account(options["owner"])
        print_result(
            self, import_task(task.card, task.files, owner=owner, made_from=task.made_from)
        )

    def _spec(self, file: Path, options: dict[str, Any]) -> TaskSpec:
        reading = Reading(**{key: options[key] for key in Reading.__dataclass_fields__})
        roles = {key: options[key] for key in Columns.__dataclass_fields__ if key in options}
        columns = Columns(**roles, names=pairs(options["label"], "--label"))
        seed = options["seed"] if options["seed"] is not None else secrets.randbelow(2**31)
        plan = Plan(options["shots"], options["splits"], options["test"], seed)
        card_keys = {key: options[key] for key in CARD_OPTIONS if options[key] is not None}
        definitions = pairs(options["define"], "--define")
        return TaskSpec(options["name"], columns, plan, reading, card_keys, definitions)

    def _print_summary(self, task: Made) -> None:
        source = task.made_from
        self.stdout.write(
            f"{source['file']} ({source['format']}): {source['different_texts']:,} different texts;"
            f" seed {source['seed']}"
        )
        for note in task.notes:
            self.stdout.write(self.style.WARNING(f"  {note}"))
        if task.defaults:
            self.stdout.write(
                self.style.WARNING(f"  defaults on the card: {', '.join(task.defaults)}")
            )
            self.stdout.write("  (to change them, use the options with these names)")
