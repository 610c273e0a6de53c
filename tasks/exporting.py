"""Export of a task version as files in the published format, for training a model.

The files contain what annotators see, so importing them results in the same content hash. Attention
checks are not part of a task, so they are excluded.
"""

import io
import tempfile
import zipfile
from pathlib import Path
from typing import Any

from tasks.cards import Card
from tasks.datasets import making
from tasks.formats import Record, SplitFile
from tasks.importing import FIELDS
from tasks.models import Example, Split, Task


def files_of(task: Task) -> list[SplitFile]:
    """Return the files of a task as they were imported, without attention checks."""
    return [
        SplitFile(
            split.kind,
            split.shots,
            split.number,
            split.filename,
            [record_of(example) for example in split.examples.order_by("position")],
        )
        for split in task.splits.exclude(kind=Split.Kind.CHECK)
    ]


def record_of(example: Example) -> Record:
    fields = {name: getattr(example, name) for name in FIELDS}
    values: dict[str, Any] = {
        key: tuple(v) if isinstance(v, list) else v for key, v in fields.items()
    }
    return Record(id=example.source_id, **values)


def write_folder(folder: Path, task: Task, card: Card, files: list[SplitFile]) -> None:
    """Write the files and images of a task, with this card, to an existing folder."""
    making.write_folder(folder, card, files)
    task.images.write(folder)


def as_zip(task: Task) -> bytes:
    """Return the card and files as a ZIP without timestamps, so equal tasks give equal ZIPs."""
    packed = io.BytesIO()
    with tempfile.TemporaryDirectory() as place, zipfile.ZipFile(packed, "w") as archive:
        write_folder(Path(place), task, task.card, files_of(task))
        for path in sorted(path for path in Path(place).rglob("*") if path.is_file()):
            entry = zipfile.ZipInfo(path.relative_to(place).as_posix())
            archive.writestr(entry, path.read_bytes(), zipfile.ZIP_DEFLATED)
    return packed.getvalue()
