"""Design a study from the command line; the same rules as the form."""

from argparse import ArgumentParser
from decimal import Decimal
from pathlib import Path
from typing import Any

from django.contrib.auth import get_user_model
from django.core.exceptions import ValidationError
from django.core.management.base import BaseCommand, CommandError
from django.urls import reverse

from annotation.models import Study
from annotation.money.amounts import read_amount
from annotation.study import design, lifecycle
from tasks.models import Task


class Command(BaseCommand):
    help = "Design a study of imported tasks; --open freezes it and gives out seats."

    def add_arguments(self, parser: ArgumentParser) -> None:
        orders = Study.Order.values
        parser.add_argument("name", help="small letters, digits, hyphens")
        parser.add_argument("--tasks", nargs="+", required=True, help="names, or NAME@VERSION")
        parser.add_argument("--shots", nargs="+", type=int, required=True)
        parser.add_argument("--annotators", type=int, default=3, help="per scenario (3)")
        parser.add_argument("--split", type=int, default=1, help="number of the training file (1)")
        parser.add_argument("--title", help="what workers see (the name)")
        parser.add_argument("--owner", help="user name of the researcher (the only one)")
        parser.add_argument("--training-order", choices=orders, default=orders[0])
        parser.add_argument("--annotation-order", choices=orders, default=orders[0])
        parser.add_argument("--seed", type=int, help="of orders and ties (random)")
        parser.add_argument("--tasks-per-worker", type=int, default=1)
        parser.add_argument("--help-examples-at-zero-shots", action="store_true")
        parser.add_argument("--hourly-rate", default="12.00")
        parser.add_argument("--currency", default="USD")
        parser.add_argument("--max-paid-hours", help="per task (three times the estimate)")
        parser.add_argument(
            "--budget", help="of the study (the cap for its seats and a fifth more)"
        )
        parser.add_argument(
            "--minutes", type=int, default=60, help="estimate that workers see (60)"
        )
        parser.add_argument("--idle-limit-hours", type=int, default=48)
        parser.add_argument("--consent-file", type=Path, help="UTF-8 text that workers consent to")
        parser.add_argument("--open", action="store_true", help="open it at once")

    def handle(self, *args: Any, **options: Any) -> None:
        study = Study(
            owner=self._owner(options["owner"]),
            name=options["name"],
            title=options["title"] or options["name"],
            shots=options["shots"],
            annotators=options["annotators"],
            split_number=options["split"],
            training_order=options["training_order"],
            annotation_order=options["annotation_order"],
            tasks_per_worker=options["tasks_per_worker"],
            help_examples_at_zero_shots=options["help_examples_at_zero_shots"],
            hourly_rate=self._amount(options, "hourly_rate"),
            max_paid_hours=self._amount(options, "max_paid_hours"),
            budget=self._amount(options, "budget"),
            currency=options["currency"],
            estimated_minutes=options["minutes"],
            idle_limit_hours=options["idle_limit_hours"],
        )
        if options["seed"] is not None:
            study.seed = options["seed"]
        if options["consent_file"]:
            study.consent_text = self._text(options["consent_file"])
        tasks = [self._task(name) for name in options["tasks"]]
        design.suggest_limits(study, tasks)
        try:
            design.save_draft(study, tasks)
        except ValidationError as error:
            lines = [f"{f}: {m}" for f, all_of in error.message_dict.items() for m in all_of]
            raise CommandError("The study was not made.\n" + "\n".join(lines)) from None
        if options["open"]:
            try:
                lifecycle.change_status(study, "open")
            except design.DesignError as error:
                raise CommandError(f"{study.name} was drafted, not opened. {error}") from None
        self.stdout.write(
            f"Study {study.name}: {study.status}, {study.scenarios.count()} scenarios"
        )
        self.stdout.write(f"Annotators: {reverse('landing', args=[study.link_code])}")
        self.stdout.write(f"Dashboard:  {reverse('study', args=[study.name])}")

    def _owner(self, name: str | None):
        users = get_user_model().objects.filter(is_active=True)
        if name:
            owner = users.filter(username=name).first()
            if owner is None:
                raise CommandError(f"There is no researcher {name!r}.")
            return owner
        if users.count() != 1:
            raise CommandError(
                "Say whose study it is: --owner USERNAME"
                if users.exists()
                else "There is no researcher yet: python manage.py createsuperuser"
            )
        return users.get()

    def _task(self, name: str) -> Task:
        name, _at, version = name.partition("@")
        tasks = Task.objects.filter(name=name)
        if version:
            tasks = tasks.filter(version=version) if version.isdecimal() else tasks.none()
        task = tasks.order_by("-version").first()
        if task is None:
            known = ", ".join(t.name for t in Task.objects.latest_versions()) or "none yet"
            raise CommandError(f"There is no task {name}{_at}{version}. Imported: {known}.")
        return task

    def _amount(self, options: dict[str, Any], name: str) -> Decimal | None:
        text = options[name]
        try:
            return None if text is None else read_amount(text)
        except ValueError:
            option = name.replace("_", "-")
            raise CommandError(f"--{option}: {text!r} is no amount, such as 12.00.") from None

    def _text(self, path: Path) -> str:
        try:
            return path.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise CommandError(f"--consent-file: {error}") from None
