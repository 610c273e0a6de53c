"""Import the published CLUES benchmark."""

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.contrib.auth.models import User
from django.core.management.base import BaseCommand, CommandError

from tasks import data_report
from tasks.formats import FormatError
from tasks.importing import CLUES, ImportResult, import_task, read_clues


def print_result(command: BaseCommand, result: ImportResult) -> None:
    if not result.created:
        command.stdout.write(f"{result.task}: unchanged")
        return
    command.stdout.write(command.style.SUCCESS(f"{result.task}: imported"))
    for line in data_report.lines(result.task.report):
        command.stdout.write(f"  {line}")


def add_owner(parser: ArgumentParser) -> None:
    parser.add_argument("--owner", default="", help="user name of the owner")


def account(name: str) -> User | None:
    """Return the account with this name, or None for "". Raises CommandError."""
    if not name:
        return None
    user = User.objects.filter(username=name).first()
    if user is None:
        raise CommandError(f"The researcher {name!r} does not exist.")
    return user


def active_account(name: str | None, advice: str) -> User:
    """Return the active account with this name, or the only one. Raises CommandError."""
    users = User.objects.filter(is_active=True)
    matches = users.filter(username=name) if name else users
    if matches.count() != 1:
        raise CommandError(
            f"The researcher {name!r} does not exist."
            if name
            else advice
            if users.exists()
            else "There are no researchers yet. Run python manage.py createsuperuser."
        )
    return matches.get()


def owner_of(name: str | None) -> str | None:
    """Return the name. If it is None and there are no users yet, create one and return its name."""
    if name or User.objects.exists():
        return name
    # The account has no password until one is set with `manage.py changepassword`.
    return User.objects.create_user("researcher").get_username()


class Command(BaseCommand):
    help = "Import tasks of CLUES from its published files (PATH/SST-2/sst_test.jsonl, ...)."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("path", type=Path, help="the folder that contains SST-2, MNLI, ...")
        parser.add_argument("--task", nargs="+", choices=list(CLUES), default=list(CLUES))
        parser.add_argument(
            "--rechain", action="store_true", help="renumber training files to nest them"
        )
        add_owner(parser)

    def handle(self, *args: Any, path: Path, rechain: bool, owner: str, **options: Any) -> None:
        if not path.is_dir():
            raise CommandError(f"{path} is not a folder.")
        refused = []
        for name in options["task"]:
            try:
                card, files = read_clues(path, name)
            except FormatError as error:
                refused.append(name)
                self.stderr.write(f"{name}: not imported: {error}")
                continue
            print_result(self, import_task(card, files, rechain, owner=account(owner)))
        if refused:
            raise CommandError(f"Not imported: {', '.join(refused)}. Fix the files and try again.")
