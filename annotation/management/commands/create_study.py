"""Design a study from the command line; the same rules as the form."""

from argparse import ArgumentParser, BooleanOptionalAction
from decimal import Decimal
from pathlib import Path
from typing import Any

from django.contrib.auth import get_user_model
from django.contrib.auth.models import User
from django.core.exceptions import ValidationError
from django.core.management.base import BaseCommand, CommandError
from django.urls import reverse

from annotation.models import Study
from annotation.money.amounts import read_amount
from annotation.study import design, design_file, lifecycle, minutes
from annotation.study.design_file import DesignFile
from tasks.metrics import METRICS
from tasks.models import Task

# Option -> field of the study; amounts and the consent text are read first.
FLAGS = {
    "name": "name",
    "title": "title",
    "shots": "shots",
    "annotators": "annotators",
    "split": "splits",
    "training_order": "training_order",
    "annotation_order": "annotation_order",
    "seed": "seed",
    "tasks_per_worker": "tasks_per_worker",
    "help_examples_at_zero_shots": "help_examples_at_zero_shots",
    "try_the_tool": "try_the_tool",
    "currency": "currency",
    "minutes": "estimated_minutes",
    "idle_limit_hours": "idle_limit_hours",
    "equivalence_margin": "equivalence_margin",
    "upstream_examples": "upstream_examples",
    "partition": "partition",
    "metrics": "metrics",
    "rehearsal": "rehearsal",
    "hide_test_scores": "hide_test_scores",
}
AMOUNTS = ("hourly_rate", "max_paid_hours", "budget")


class Command(BaseCommand):
    help = "Design a study of imported tasks; --open freezes it and assigns seats."

    def add_arguments(self, parser: ArgumentParser) -> None:
        orders = Study.Order.values
        parser.add_argument("name", nargs="?", help="lower-case letters, digits and hyphens")
        parser.add_argument(
            "--design",
            type=Path,
            help="a TOML file of the whole design, with the keys of the manifest; flags go before"
            " it",
        )
        parser.add_argument("--tasks", nargs="+", help="names, or NAME@VERSION")
        parser.add_argument("--shots", nargs="+", type=int)
        parser.add_argument("--annotators", type=int, help="per scenario (3)")
        parser.add_argument(
            "--split", nargs="+", type=int, help="numbers of the training splits (1)"
        )
        parser.add_argument("--title", help="title shown to annotators (the name)")
        parser.add_argument("--owner", help="user name of the researcher (the only one)")
        parser.add_argument("--training-order", choices=orders)
        parser.add_argument("--annotation-order", choices=orders)
        parser.add_argument("--seed", type=int, help="of orders and ties (random)")
        parser.add_argument("--tasks-per-worker", type=int, help="(1)")
        parser.add_argument("--help-examples-at-zero-shots", action="store_true", default=None)
        parser.add_argument(
            "--try-the-tool",
            action=BooleanOptionalAction,
            default=None,
            help="three made-up sentences before the first example (yes)",
        )
        parser.add_argument(
            "--rehearsal",
            action="store_true",
            default=None,
            help="simulated annotators live here; nobody's numbers",
        )
        parser.add_argument(
            "--hide-test-scores",
            action=BooleanOptionalAction,
            default=None,
            help="of people, until the study is closed (yes)",
        )
        parser.add_argument("--hourly-rate", help="(12.00)")
        parser.add_argument("--currency", help="(USD)")
        parser.add_argument("--max-paid-hours", help="per task (three times the announced minutes)")
        parser.add_argument("--budget", help="of the study (the cap for each seat plus 20 %%)")
        parser.add_argument(
            "--minutes",
            type=int,
            help="told to annotators, of all tasks (of each task by its examples)",
        )
        parser.add_argument("--idle-limit-hours", type=int, help="(48)")
        parser.add_argument("--equivalence-margin", type=float, help="in points of S1 x 100 (none)")
        parser.add_argument(
            "--upstream-tasks", nargs="+", help="of a cross-task study: names, or NAME@VERSION"
        )
        parser.add_argument("--upstream-examples", type=int, help="of each upstream task")
        parser.add_argument("--sham-task", help="the neutral task of the sham arm")
        parser.add_argument("--partition", help="of CrossFit, whose tasks must then be chosen")
        parser.add_argument(
            "--metrics",
            nargs="+",
            metavar="METRIC",
            help=f"shown beside that of a task's card: {', '.join(METRICS)}",
        )
        parser.add_argument(
            "--consent-file", type=Path, help="UTF-8 text that annotators consent to"
        )
        parser.add_argument("--open", action="store_true", help="open it at once")

    def handle(self, *args: Any, **options: Any) -> None:
        read = self._design_file(options["design"])
        fields = (read.fields if read else {}) | self._flags(options)
        names = options["tasks"] or (read.tasks if read else [])
        for field, flag in (("name", "NAME"), ("shots", "--shots")):
            if field not in fields:
                raise CommandError(f"Give {flag}, or write {field} in a file for --design.")
        study = Study(owner=self._owner(options["owner"]), **{"title": fields["name"], **fields})
        tasks = [self._task(name) for name in names]
        upstream = options["upstream_tasks"] or (read.upstream if read else [])
        sham = options["sham_task"] or (read.sham if read else "")
        study.sham_task = self._task(sham) if sham else None
        self._save(study, tasks, [self._task(name) for name in upstream], read)
        if options["open"]:
            try:
                lifecycle.change_status(study, "open")
            except design.DesignError as error:
                raise CommandError(f"{study.name} was drafted, not opened. {error}") from None
        for doubt in minutes.doubts(study, tasks):
            self.stderr.write(self.style.WARNING(f"Warning: {doubt}"))
        self.stdout.write(
            f"Study {study.name}: {study.status}, {study.scenarios.count()} scenarios"
        )
        self.stdout.write(f"Annotators: {reverse('landing', args=[study.link_code])}")
        self.stdout.write(f"Dashboard:  {reverse('study', args=[study.name])}")

    def _design_file(self, path: Path | None) -> DesignFile | None:
        try:
            return design_file.read(path) if path else None
        except design_file.DesignFileError as error:
            raise CommandError(str(error)) from None

    def _flags(self, options: dict[str, Any]) -> dict[str, Any]:
        """The fields of the study that flags set."""
        fields = {field: options[option] for option, field in FLAGS.items()}
        fields |= {name: self._amount(options, name) for name in AMOUNTS}
        if options["consent_file"]:
            fields["consent_text"] = self._text(options["consent_file"])
        return {field: value for field, value in fields.items() if value is not None}

    def _save(
        self, study: Study, tasks: list[Task], upstream: list[Task], read: DesignFile | None
    ) -> None:
        """Save the draft. An error says its field, or the file and the key that set it."""
        design.suggest_limits(study, tasks)
        try:
            design.save_draft(study, tasks, upstream=upstream)
        except ValidationError as error:
            lines = [
                f"{read.place_of(field) if read else field}: {message}"
                for field, messages in error.message_dict.items()
                for message in messages
            ]
            raise CommandError("The study was not created.\n" + "\n".join(lines)) from None

    def _owner(self, name: str | None) -> User:
        users = get_user_model().objects.filter(is_active=True)
        if name:
            owner = users.filter(username=name).first()
            if owner is None:
                raise CommandError(f"There is no researcher {name!r}.")
            return owner
        if users.count() != 1:
            raise CommandError(
                "Name the owner of the study: --owner USERNAME"
                if users.exists()
                else "There is no researcher yet: python manage.py createsuperuser"
            )
        return users.get()

    def _task(self, name: str) -> Task:
        try:
            return design_file.task_named(name)
        except design_file.DesignFileError as error:
            raise CommandError(str(error)) from None

    def _amount(self, options: dict[str, Any], name: str) -> Decimal | None:
        text = options[name]
        try:
            return None if text is None else read_amount(text)
        except ValueError:
            option = name.replace("_", "-")
            raise CommandError(f"--{option}: {text!r} is not an amount such as 12.00.") from None

    def _text(self, path: Path) -> str:
        try:
            return path.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise CommandError(f"--consent-file: {error}") from None
