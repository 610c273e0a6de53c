"""Import a task from JSON Lines files and a card."""

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from tasks import images
from tasks.cards import CardError, load_card
from tasks.folders import read_folder
from tasks.formats import FormatError
from tasks.importing import import_task
from tasks.management.commands.import_clues import account, add_owner, print_result
from tasks.models import Image


class Command(BaseCommand):
    help = "Import a task from DIR (task.toml, NAME_train_SHOTS_NUMBER.jsonl, NAME_test.jsonl)."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("folder", type=Path)
        parser.add_argument(
            "--rechain", action="store_true", help="renumber training files to nest them"
        )
        add_owner(parser)

    def handle(self, *args: Any, folder: Path, rechain: bool, owner: str, **options: Any) -> None:
        if not folder.is_dir():
            raise CommandError(f"{folder} is not a folder.")
        if not (folder / "task.toml").is_file():
            raise CommandError(f"{folder} does not contain a card. Add a file task.toml.")
        try:
            card = load_card(folder / "task.toml")
            with images.cleaned(folder) as folder:
                files = read_folder(folder, card)
                Image.objects.store(folder, images.files_in(folder))
        except (CardError, FormatError) as error:
            wrong = "\n".join(error.sentences)
            raise CommandError(f"Nothing was imported: {wrong}") from None
        print_result(self, import_task(card, files, rechain, owner=account(owner)))
