"""Import a model's predictions from a folder, as the models page does."""

import re
from argparse import ArgumentParser
from datetime import date
from pathlib import Path
from typing import Any

from django.core.exceptions import ValidationError
from django.core.management.base import BaseCommand, CommandError

from tasks.formats import FormatError
from tasks.management.commands.import_clues import active_account
from tasks.models import PredictionFile
from tasks.models.choices import ARM_NAME
from tasks.models.predictions import ExternalData, Method, Numbering, Seen, SizeClass, Tuning
from tasks.predictions.format import NAMED, read_predictions
from tasks.predictions.store import STATED, PredictionsError, PredictionUpload, add

TRAINED = "was it trained on {} data in addition to the training split?"


class Command(BaseCommand):
    help = f"Import the predictions of a model from the files in a folder, named {NAMED}. Samples"
    help += " of lm-evaluation-harness (samples_TASK_10_3_DATE.jsonl) and Inspect logs (.eval) are"
    help += " accepted if their task has such a name. If a file is invalid, none is imported."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("model", help="name of the model: letters, digits, . - and _")
        parser.add_argument("folder", type=Path)
        parser.add_argument("--title", default="", help="description")
        parser.add_argument("--link", default="", help="URL of its paper or code")
        parser.add_argument("--parameters", type=int, help="number of parameters")
        for option, choices, help_text in (
            ("size-class", SizeClass, "base and large models are ranked separately"),
            ("external-labelled", ExternalData, TRAINED.format("labelled")),
            ("external-unlabelled", ExternalData, TRAINED.format("unlabelled")),
            ("numbering", Numbering, "what the numbers of its training splits refer to"),
            ("seen-test", Seen, "could it have seen the test examples?"),
            ("method", Method, "how it was adapted to the task"),
            ("tuning", Tuning, "how its prompts and settings were chosen"),
        ):
            values = [value for value in choices.values if value]
            parser.add_argument(f"--{option}", choices=values, default="", help=help_text)
        parser.add_argument("--arm", default="", help="arm of a cross-task study, such as upstream")
        parser.add_argument("--predicted-on", type=date.fromisoformat, help="YYYY-MM-DD")
        parser.add_argument("--revision", default="", help="model revision, such as a commit")
        parser.add_argument(
            "--witness", action="store_true", help="use it for error overlap, but in no table"
        )
        parser.add_argument("--by", help="user name of the researcher (default: the only one)")

    def handle(self, *args: Any, model: str, folder: Path, **options: Any) -> None:
        if not folder.is_dir():
            raise CommandError(f"{folder} is not a folder.")
        if options["arm"] and not re.match(ARM_NAME, options["arm"]):
            raise CommandError("--arm: expected the name of an arm, such as upstream.")
        details = {key: options[key] for key in STATED}
        by = active_account(options["by"], "Name the uploading researcher with --by USERNAME.")
        try:
            files = add(model, self._uploads(folder), by, **details)
        except PredictionsError as error:
            raise CommandError(f"Nothing was imported:\n{error}") from None
        except ValidationError as error:
            lines = [f"{f}: {m}" for f, messages in error.message_dict.items() for m in messages]
            raise CommandError("Nothing was imported:\n" + "\n".join(lines)) from None
        stored = PredictionFile.objects.filter(pk__in=[file.pk for file in files])
        for file in stored.with_scores().select_related("model", "task"):
            mean = 100 * file.mean_s1  # type: ignore[attr-defined]  # from with_scores
            examples = file.examples  # type: ignore[attr-defined]  # the same
            self.stdout.write(f"{file}: S1 {mean:.2f} over {examples} examples")
            for remark in file.remarks:
                self.stdout.write(self.style.WARNING(f"  {file.filename}: {remark}"))

    def _uploads(self, folder: Path) -> list[PredictionUpload]:
        """Return the files in the folder, except for notes, results_*.json and hidden files."""
        uploads, problems = [], []
        for path in sorted(folder.iterdir()):
            if path.name.startswith((".", "README", "LICENSE", "LICENCE", "results_")):
                continue
            try:
                uploads.append(PredictionUpload.from_filename(*read_predictions(path)))
            except FormatError as error:
                problems.append(str(error))
            except OSError as error:
                problems.append(f"{path.name}: cannot be read ({error.strerror})")
        if problems:
            raise PredictionsError(problems)
        return uploads
