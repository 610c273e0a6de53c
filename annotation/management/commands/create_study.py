"""Create a study from the command line, with the same rules as on the form."""

from argparse import ArgumentParser, BooleanOptionalAction
from pathlib import Path
from typing import Any

from django.core.exceptions import ValidationError
from django.core.management.base import BaseCommand, CommandError
from django.db import models
from django.urls import reverse

from annotation.models import Study
from annotation.study import design, design_file, lifecycle, minutes
from tasks.management.commands.import_clues import active_account

# Every field of a design has a flag, except for those that a design file contains as tables.
NO_FLAGS = ("name", "audience", "arms")
FLAGS = [name for name in design_file.FIELDS.values() if name not in NO_FLAGS]
# Maps keys of a design file to options.
OPTIONS = {key: name for key, name in design_file.FIELDS.items() if name in ("name", *FLAGS)}
OPTIONS |= {key: key.rpartition(".")[2] for key in ("tasks", *design_file.NAMING)}


def _option(field: Any) -> dict[str, Any]:
    """Return the argparse options for a field. Amounts remain strings, as in a file."""
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
        source = str(options["design"] or "flags")
        data = design_file.data_in(options["design"]) if options["design"] else {}
        flags = {key: options[name] for key, name in OPTIONS.items() if options[name] is not None}
        design_file.from_data("flags", flags)
        # Flags replace the values in the file, because they come later.
        file = design_file.from_data(source, data | flags)
        for field, flag in (("name", "NAME"), ("shots", "--shots")):
            if field not in file.fields:
                raise CommandError(f"Set {flag}, or {field} in the --design file.")
        owner = active_account(options["owner"], "Name the study's owner with --owner USERNAME.")
        tasks, upstream, sham = file.found()
        values = {"title": file.fields["name"], **file.fields, "sham_task": sham}
        study = Study(owner=owner, **values)
        design.suggest_limits(study, tasks)
        try:
            design.save_draft(study, tasks, upstream=upstream)
        except ValidationError as error:
            lines = [
                f"{source}: {design_file.key_of(field)}: {message}"
                for field, messages in error.message_dict.items()
                for message in messages
            ]
            raise CommandError("The study was not created.\n" + "\n".join(lines)) from None
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
