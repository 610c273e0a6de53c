"""Export of a task version as files in the published format, for training a model.

The files contain what annotators see, so importing them results in the same content hash. Attention
checks are not part of a task, so they are excluded.
"""

import io
import shutil
import tempfile
import zipfile
from pathlib import Path

from tasks import data_report
from tasks.cards import Card
from tasks.datasets import making
from tasks.formats import Record, SplitFile, content_hash
from tasks.models import Example, Split, Task


class ExportError(Exception):
    """Raised if nothing was written. The message gives the reason."""


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
    starts = example.gold_starts
    return Record(
        example.source_id,
        tuple(example.context),
        example.question,
        tuple(example.gold),
        None if starts is None else tuple(starts),
        example.explanation,
        options=tuple(example.options),
        stratum=example.stratum,
    )


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


def export(task: Task, folder: Path) -> list[SplitFile]:
    """Write everything to a new folder, or nothing. Raises ExportError if it exists, or OSError."""
    if folder.exists():
        raise ExportError(f"{folder} already exists; choose a new folder")
    if not folder.parent.is_dir():
        raise ExportError(f"{folder.parent} is not a folder")
    files = files_of(task)
    if content_hash(task.card, files) != task.content_hash:
        raise ExportError(f"{task} differs from the task that was imported; nothing was written")
    part = Path(tempfile.mkdtemp(prefix=f".{folder.name}-", dir=folder.parent))
    try:
        write_folder(part, task, task.card, files)
        (part / "README.md").write_text(_readme(task, files), encoding="utf-8")
        part.chmod(0o755)
        part.rename(folder)
    except BaseException:
        shutil.rmtree(part, ignore_errors=True)
        raise
    return files


def _readme(task: Task, files: list[SplitFile]) -> str:
    rechain = " --rechain" if task.rechained else ""
    lines = [
        f"# {task}", "",
        f"Content hash {task.content_hash}. `python manage.py import_task DIR{rechain}` gives the"
        " same task again.", "",
        "| file | shots | training split in studies | examples |", "|---|---|---|---|",
    ]  # fmt: skip
    lines += [
        f"| `{file.filename}` | {file.shots or '–'} | {file.number or '–'} | {len(file.records)} |"
        for file in files
    ]
    made_from = task.report.get("made_from")
    if made_from:
        lines += ["", f"{data_report.origin(made_from)}.", "", f"SHA-256 {made_from['sha256']}"]
    return "\n".join(lines) + "\n"
