"""Import: files become a version of a task, all or nothing.

The same content again changes nothing; changed content makes a new version beside the old one, so
that no answer ever loses the example it was given for.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from django.db import transaction

from tasks import report
from tasks.cards import Card, load_card
from tasks.formats import FormatError, Record, SplitFile, content_hash, read_folder
from tasks.models import Example, Split, Task

CARDS = Path(__file__).parent / "clues"

# Name of the task -> folder and prefix of its files in the published layout.
CLUES = {
    "SST-2": ("SST-2", "sst"),
    "MNLI": ("MNLI", "mnli"),
    "CoNLL03": ("CoNLL2003", "conll"),
    "WikiANN": ("WikiANN_EN", "wikiann"),
    "SQuADv2": ("SQuAD-v2", "squad-v2"),
    "ReCoRD": ("ReCoRD", "record"),
}


@dataclass(frozen=True)
class ImportResult:
    """The stored task, whether it is new, and its data report."""

    task: Task
    created: bool
    report: dict[str, Any]


def read_clues(root: Path, name: str, rechain: bool = False) -> tuple[Card, list[SplitFile]]:
    """Read one CLUES task from the published layout, with the card that ships with the project.

    Raises FormatError.
    """
    folder, prefix = CLUES[name]
    card = load_card(CARDS / f"{name.lower()}.toml")
    if not (root / folder).is_dir():
        raise FormatError(folder, None, None, f"no such folder in {root.name or root}")
    files = read_folder(root / folder, card)
    if not files[0].filename.startswith(f"{prefix}_"):
        raise FormatError(files[0].filename, None, None, f"expected files named {prefix}_...")
    return card, report.rechained(files) if rechain else files


def import_task(card: Card, files: list[SplitFile], rechain: bool = False) -> ImportResult:
    """Store the task, or find that it is stored already."""
    digest = content_hash(card, files)
    built = report.build(card, files)
    with transaction.atomic():
        stored = Task.objects.filter(name=card.name, content_hash=digest).first()
        if stored is not None:
            return ImportResult(stored, False, stored.report)
        newest = Task.objects.filter(name=card.name).order_by("-version").first()
        task = Task.objects.create(
            name=card.name,
            version=newest.version + 1 if newest else 1,
            content_hash=digest,
            card_data=card.as_dict(),
            rechained=rechain,
            report=built,
        )
        for file in files:
            split = Split.objects.create(
                task=task,
                kind=file.kind,
                shots=file.shots,
                number=file.number,
                filename=file.filename,
            )
            Example.objects.bulk_create(examples_of(split, file.records))
    return ImportResult(task, True, built)


def examples_of(split: Split, records: list[Record]) -> list[Example]:
    """The records as unsaved rows of that split, in their order."""
    return [
        Example(
            split=split,
            position=position,
            source_id=record.id,
            context=list(record.context),
            question=record.question,
            gold=list(record.gold),
            gold_starts=None if record.gold_starts is None else list(record.gold_starts),
            content_hash=record.content_hash,
        )
        for position, record in enumerate(records)
    ]
