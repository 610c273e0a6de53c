"""Import: records become a version of a task, all or nothing."""

import hashlib
from dataclasses import dataclass
from typing import Any

from django.db import transaction

from tasks.cards import Card
from tasks.formats import SplitFile, canonical
from tasks.models import Example, Split, Task


@dataclass(frozen=True)
class ImportResult:
    task: Task
    created: bool
    report: dict[str, Any]


def content_hash(card: Card, files: list[SplitFile]) -> str:
    content = [
        [
            file.kind,
            file.shots,
            file.number,
            [[r.id, list(r.context), r.question, list(r.gold), r.gold_starts] for r in file.records],
        ]
        for file in files
    ]
    return hashlib.sha256(canonical([card.as_dict(), content])).hexdigest()


def import_task(card: Card, files: list[SplitFile], rechain: bool = False) -> ImportResult:
    """Store the task, or find it stored already; changed content makes a new version."""
    digest = content_hash(card, files)
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
            report={},
        )
        for file in files:
            split = Split.objects.create(
                task=task,
                kind=file.kind,
                shots=file.shots,
                number=file.number,
                filename=file.filename,
            )
            Example.objects.bulk_create(
                Example(
                    split=split,
                    position=position,
                    source_id=record.id,
                    context=list(record.context),
                    question=record.question,
                    gold=list(record.gold),
                    gold_starts=list(record.gold_starts) if record.gold_starts else None,
                    content_hash=record.content_hash,
                )
                for position, record in enumerate(file.records)
            )
    return ImportResult(task, True, task.report)
