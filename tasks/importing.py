"""Import the files of a task. If anything fails, nothing is stored.

Content that is already stored isn't stored again. Changed content becomes a new version, and the
old one is kept, because answers refer to its examples.
"""

import time
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from django.contrib.auth.models import User
from django.db import connection, transaction

from tasks import data_report, teams
from tasks.cards import Card, load_card
from tasks.folders import read_folder
from tasks.formats import FormatError, Record, SplitFile, content_hash
from tasks.images import image_in
from tasks.models import Example, Image, Split, Task, TaskReport, UnfinishedImport

PIECE = 1_000_000  # characters of examples to store per transaction
# Fields with the same name in records and examples.
FIELDS = ("context", "question", "gold", "gold_starts", "explanation", "options", "stratum")
CARDS = Path(__file__).parent / "clues"

# Maps each task's name to the folder and prefix of its files as published.
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
    task: Task
    created: bool


def read_clues(root: Path, name: str) -> tuple[Card, list[SplitFile]]:
    """Read the files of a CLUES task, with the card that Handful includes. Raises FormatError."""
    folder, prefix = CLUES[name]
    card = load_card(CARDS / f"{name.lower()}.toml")
    if not (root / folder).is_dir():
        raise FormatError(folder, f"folder not found in {root.name or root}")
    files = read_folder(root / folder, card)
    if not files[0].filename.startswith(f"{prefix}_"):
        raise FormatError(files[0].filename, f"expected files named {prefix}_...")
    return card, files


def import_task(
    card: Card,
    files: list[SplitFile],
    rechain: bool = False,
    by: User | None = None,
    owner: User | None = None,
    made_from: dict[str, Any] | None = None,
) -> ImportResult:
    """Store the task and return it. If its content is already stored, return the stored task.

    Examples are stored in batches, so that annotators on SQLite don't have to wait for all of them.
    Until the last batch is stored, `Task.objects` excludes the task. If an import is killed,
    importing the same content again resumes it.

    `by` is the user who imports the task, or None on the command line, where an `owner` may be
    given instead. `rechain` renumbers training files so that they nest. Images must already be
    stored. `made_from` describes the source and sampling (tasks/datasets/making.py). Raises
    teams.NotInTeam for a new version of another team's task.
    """
    files = data_report.rechained(files) if rechain else files
    digest = content_hash(card, files)
    stored = Task.objects.filter(name=card.name, content_hash=digest).first()
    if stored is not None:
        return ImportResult(stored, False)
    built = data_report.build(card, files)
    if made_from:
        built["made_from"] = made_from
    new = Task(
        name=card.name, content_hash=digest, card_data=card.as_dict(), rechained=rechain,
        imported_by=by or owner,
    )  # fmt: skip
    task = _begin(new, built, by)
    segments = (s for file in files for record in file.records for s in record.context)
    images = {image.name for segment in segments if (image := image_in(segment))}
    task.images.set(images)  # type: ignore[arg-type]  # names are keys
    try:
        for number, piece in enumerate(_pieces(task, files)):
            # SQLite allows only one writer. Others retry every 0.1 s, so give them a chance.
            if number and connection.vendor == "sqlite":
                time.sleep(0.11)
            with transaction.atomic():
                Example.objects.bulk_create(piece, ignore_conflicts=True)
        with transaction.atomic():
            expected = sum(len(file.records) for file in files)
            if Example.objects.filter(split__task=task).count() != expected:
                raise RuntimeError(f"{task} does not have all of its {expected} examples")
            finished, _ = UnfinishedImport.objects.filter(task=task).delete()
    except Exception:
        with transaction.atomic():
            Task.with_unfinished.filter(pk=task.pk, unfinished__isnull=False).delete()
        raise
    return ImportResult(task, bool(finished))


def _begin(task: Task, built: dict[str, Any], by: User | None) -> Task:
    """Create or find the row for this content, which is marked as unfinished."""
    with transaction.atomic():
        versions = Task.with_unfinished.filter(name=task.name)
        stored = versions.filter(content_hash=task.content_hash).first()
        if stored is not None:
            return stored
        teams.check(task.name, by)
        newest = versions.order_by("-version").first()
        task.version = newest.version + 1 if newest else 1
        task.save(force_insert=True)
        TaskReport.objects.create(task=task, content=built)
        UnfinishedImport.objects.create(task=task)
        return task


def _pieces(task: Task, files: list[SplitFile]) -> Iterator[list[Example]]:
    """Yield the examples that are not yet stored, in batches of about PIECE characters."""
    piece: list[Example] = []
    size = 0
    for file in files:
        split, _created = Split.objects.get_or_create(
            task=task, kind=file.kind, shots=file.shots, number=file.number,
            defaults={"filename": file.filename},
        )  # fmt: skip
        stored = set(split.examples.values_list("position", flat=True))
        for example in examples_of(split, file.records):
            if example.position in stored:
                continue
            piece.append(example)
            texts = (*example.context, example.question, *example.gold, *example.options)
            size += sum(map(len, texts)) + 500
            if size > PIECE:
                yield piece
                piece, size = [], 0
    if piece:
        yield piece


def drop_unfinished(cutoff: datetime) -> None:
    Task.with_unfinished.filter(unfinished__begun_at__lt=cutoff).delete()
    Image.objects.filter(task=None, stored_at__lt=cutoff).only("name").delete()


def examples_of(split: Split, records: list[Record]) -> list[Example]:
    return [
        Example(
            split=split,
            position=position,
            source_id=record.id,
            content_hash=record.content_hash,
            **{name: getattr(record, name) for name in FIELDS},
        )
        for position, record in enumerate(records)
    ]
