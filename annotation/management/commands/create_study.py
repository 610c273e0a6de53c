"""Create a study from the command line, with the same rules as on the form."""

from argparse import ArgumentParser, BooleanOptionalAction
from decimal import Decimal
from pathlib import Path
from typing import Any

from django.core.exceptions import ValidationError
from django.core.management.base import BaseCommand, CommandError
from django.db import models
from django.urls import reverse

from annotation.models import Study
from annotation.study import design, design_file, lifecycle, minutes
from annotation.study.design_file import DesignFile
from annotation.web.fields import read_amount
from tasks.management.commands.import_clues import active_account
from tasks.models import Task

# Every field of a design has a flag, except for those that a design file contains as tables.
NO_FLAGS = ("name", "audience", "arms")
FLAGS = [name for name in design_file.FIELDS.values() if name not in NO_FLAGS]


def _option(field: Any) -> dict[str, Any]:
    """Return the argparse options for a field. Amounts remain strings, which are parsed later."""
    help_text = str(field.help_text or field.verbose_name).replace("%", "%%")
    if isinstance(field, models.BooleanField):
        return {"action": BooleanOptionalAction, "default": None, "help": help_text}
    if isinstance(field, models.JSONField):
        return {"nargs": "+", "type": str if field.name == "metrics" else int, "help": help_text}
    kinds = {models.IntegerField: int, models.FloatField: float}
    parse = next((parser for kind, parser in kinds.items() if isinstance(field, kind)), str)
    choices = [value for value, _label in field.choices] if field.choices else None
    return {"type": parse, "choices": choices, "help": help_text}


class Command(BaseCommand):
    help = "Create a study on imported tasks. --open also freezes the design and opens the study."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("name", nargs="?", help="lower-case letters, digits and hyphens")
        parser.add_argument(
            "--design",
            type=Path,
            help="a TOML file with the design, using the manifest's keys; flags override it",
        )
        parser.add_argument("--owner", help="user name of the researcher (default: the only one)")
        parser.add_argument("--tasks", nargs="+", help="NAME or NAME@VERSION")
        parser.add_argument("--upstream-tasks", nargs="+", help="for cross-task studies")
        parser.add_argument("--sham-task", help="the neutral task of the sham arm")
        for name in FLAGS:
            field = Study.design_field(name)
            parser.add_argument(f"--{name.replace('_', '-')}", **_option(field))
        parser.add_argument("--open", action="store_true", help="open the study immediately")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            self._create(options)
        except design_file.DesignFileError as error:
            raise CommandError(str(error)) from None

    def _create(self, options: dict[str, Any]) -> None:
        file = design_file.read(options["design"]) if options["design"] else None
        fields = (file.fields if file else {}) | self._flags(options)
        names = options["tasks"] or (file.tasks if file else [])
        for field, flag in (("name", "NAME"), ("shots", "--shots")):
            if field not in fields:
                raise CommandError(f"Set {flag}, or {field} in the --design file.")
        owner = active_account(options["owner"], "Name the study's owner with --owner USERNAME.")
        study = Study(owner=owner, **{"title": fields["name"], **fields})
        tasks = list(map(design_file.task_named, names))
        upstream = options["upstream_tasks"] or (file.upstream if file else [])
        sham = options["sham_task"] or (file.sham if file else "")
        study.sham_task = design_file.task_named(sham) if sham else None
        self._save(study, tasks, list(map(design_file.task_named, upstream)), file)
        if options["open"]:
            try:
                lifecycle.change_status(study, "open")
            except design.DesignError as error:
                raise CommandError(f"{study.name} was saved but not opened. {error}") from None
        for doubt in minutes.doubts(study, tasks):
            self.stderr.write(self.style.WARNING(f"Warning: {doubt}"))
        self.stdout.write(
            f"Study {study.name}: {study.status}, {study.scenarios.count()} scenarios"
        )
        self.stdout.write(f"Annotators: {reverse('landing', args=[study.link_code])}")
        self.stdout.write(f"Dashboard:  {reverse('study', args=[study.name])}")

    def _flags(self, options: dict[str, Any]) -> dict[str, Any]:
        given = {name: options[name] for name in ("name", *FLAGS) if options[name] is not None}
        for name in given:
            if isinstance(Study.design_field(name), models.DecimalField):
                given[name] = self._amount(given[name], name)
        return given

    def _save(
        self, study: Study, tasks: list[Task], upstream: list[Task], file: DesignFile | None
    ) -> None:
        design.suggest_limits(study, tasks)
        try:
            design.save_draft(study, tasks, upstream=upstream)
        except ValidationError as error:
            lines = [
                f"{file.place_of(field) if file else field}: {message}"
                for field, messages in error.message_dict.items()
                for message in messages
            ]
            raise CommandError("The study was not created.\n" + "\n".join(lines)) from None

    def _amount(self, text: Any, name: str) -> Decimal:
        try:
            return read_amount(str(text))
        except ValueError:
            option = name.replace("_", "-")
            raise CommandError(f"--{option}: {text!r} is not an amount such as 12.00.") from None
