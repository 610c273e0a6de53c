"""A study's CSV files. Each file has one unit of observation and is streamed.

Files are in UTF-8 without a byte order mark and follow RFC 4180 (CRLF between records). Floats are
written as the shortest string that parses to the same number, and times are in ISO 8601 UTC. Text
is never altered, even where a spreadsheet would interpret a leading "=" as a formula. Workers
appear under pseudonyms. Links, tokens and keys are never written.
"""

import hashlib
import json
import platform
import shutil
import tempfile
import zipfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from django.conf import settings
from django.db import connection, transaction
from django.template.loader import render_to_string

from analysis.export import records, rows
from analysis.export.columns import COLUMNS
from analysis.scores import frames, marks
from analysis.scores.columns import cell, type_of
from annotation.models import Study
from tasks.csv_files import moment, write_csv
from tasks.models import Image

VERIFY = Path(__file__).with_name("verify.py")
SUMS, BUNDLE_SUMS = "SHA256SUMS", "SHA256SUMS.bundle"
PIECE = 1 << 18  # bytes to compress and send at a time


def write_export(study: Study, folder: Path) -> dict[str, int]:
    """Write all files or none into an empty folder. Returns row counts. Raises FileExistsError."""
    with whole_folder(folder) as building, snapshot():
        counts = write_files(study, building)
        write_sums(building)
    return counts


@contextmanager
def whole_folder(folder: Path) -> Iterator[Path]:
    """Create a temporary folder next to `folder`. Rename it on success, or delete it on failure.

    Raises FileExistsError if `folder` exists and is not empty.
    """
    folder = folder.absolute()
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise FileExistsError(f"{folder} already exists and is not empty. Name a new folder.")
    folder.parent.mkdir(parents=True, exist_ok=True)
    building = Path(tempfile.mkdtemp(prefix=f".{folder.name}-", dir=folder.parent))
    try:
        yield building
        if folder.exists():
            folder.rmdir()
        building.chmod(0o755)
        building.rename(folder)
    except BaseException:
        shutil.rmtree(building, ignore_errors=True)
        raise


@contextmanager
def snapshot() -> Iterator[None]:
    """Read all files from a single database state while annotators continue to answer.

    PostgreSQL supports snapshots; SQLite provides one if the transaction starts with a read.
    """
    if connection.in_atomic_block:
        yield
        return
    connection.ensure_connection()
    begins = getattr(connection, "transaction_mode", None)
    connection.transaction_mode = None  # type: ignore[attr-defined]  # of SQLite
    try:
        with transaction.atomic():
            if connection.vendor == "postgresql":
                with connection.cursor() as cursor:
                    cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
            yield
    finally:
        connection.transaction_mode = begins  # type: ignore[attr-defined]  # of SQLite


def write_files(study: Study, folder: Path) -> dict[str, int]:
    """Write the CSVs, manifest, verify.py and README, and return each CSV's row count."""
    frame = frames.annotators(study)
    makers: dict[str, Callable[[], Iterable[records.Row]]] = {
        "examples.csv": lambda: rows.examples_rows(study),
        "answers.csv": lambda: rows.answers_rows(study),
        "spans.csv": lambda: rows.spans_rows(study),
        "annotators.csv": lambda: rows.annotators_rows(study, frame),
        "scenarios.csv": lambda: rows.scenarios_rows(frame),
        **{name: partial(make, study) for name, make in records.ROWS.items()},
    }
    concluded, counts = rows.concluded_rows(study), {}
    for name, columns in COLUMNS.items():
        made = makers[name]() if name in makers else concluded[name]
        with (folder / name).open("w", encoding="utf-8", newline="") as file:
            lines = ([study.name, study.manifest_hash, *map(cell, row)] for row in made)
            counts[name] = write_csv(file, list(columns), lines)
    tasks = [*study.tasks.all(), *study.trained_tasks]
    Image.objects.filter(task__in=[task.pk for task in tasks]).write(folder)
    (folder / "manifest.json").write_bytes(study.manifest.encode())
    text = json.dumps(versions(study), indent=1) + "\n"
    (folder / "versions.json").write_text(text, encoding="utf-8")
    shutil.copyfile(VERIFY, folder / VERIFY.name)
    context = {
        "study": study, "programs": marks.programs_mark(study), "columns": columns_markdown(),
    }  # fmt: skip
    text = render_to_string("export/readme.md", context)
    (folder / "README.md").write_text(text, encoding="utf-8")
    return counts


def versions(study: Study) -> dict[str, Any]:
    """Return software versions, the seed and times. The opening and closing times may be None."""
    closed = study.events.filter(what="closed for good").order_by("-pk").first()
    return {
        "handful": settings.VERSION,
        "python": platform.python_version(),
        **{name: metadata.version(name) for name in ("numpy", "pandas")},
        "seed": study.seed,
        "opened_at": moment(study.opened_at) if study.opened_at else None,
        "closed_at": moment(closed.at) if closed else None,
    }


def write_sums(folder: Path) -> str:
    """Write SHA256SUMS for all files in the folder and its subfolders, and return its SHA-256."""
    return _write_sums(folder, SUMS, _paths(folder))


def write_data_sums(folder: Path) -> str:
    """Write SHA256SUMS for an export's files: CSVs, manifest, versions and verify.py."""
    names = (*COLUMNS, "manifest.json", "versions.json", VERIFY.name)
    return _write_sums(folder, SUMS, [folder / name for name in names])


def write_bundle_sums(folder: Path) -> str:
    """Write SHA256SUMS.bundle for SHA256SUMS and all files not listed in it. Return its SHA-256."""
    lines = (folder / SUMS).read_text(encoding="utf-8").splitlines()
    listed = {line.partition("  ")[2] for line in lines}
    paths = [path for path in _paths(folder) if path.relative_to(folder).as_posix() not in listed]
    return _write_sums(folder, BUNDLE_SUMS, [folder / SUMS, *paths])


def _paths(folder: Path) -> list[Path]:
    paths = (path for path in folder.rglob("*") if path.is_file())
    return sorted(path for path in paths if not path.name.startswith(SUMS))


def _write_sums(folder: Path, name: str, paths: Iterable[Path]) -> str:
    sums = [f"{sha256(path)}  {path.relative_to(folder).as_posix()}\n" for path in paths]
    (folder / name).write_text("".join(sums), encoding="utf-8")
    return sha256(folder / name)


def sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


class _Pieces:
    """A writable file that hands over everything written to it since the last call."""

    def __init__(self) -> None:
        self.pieces: list[bytes] = []

    def write(self, data: bytes) -> int:
        self.pieces.append(bytes(data))
        return len(data)

    def flush(self) -> None:
        """Do nothing, because nothing is buffered."""

    def drain(self) -> bytes:
        data, self.pieces = b"".join(self.pieces), []
        return data


def stream_export(study: Study) -> Iterator[bytes]:
    """Yield the export as a ZIP in pieces.

    verify.py comes first, before any query, so that the download starts immediately. All other
    files are written in a single snapshot before any of them is sent, so that a slow connection
    does not keep a transaction open.
    """
    pieces = _Pieces()
    with zipfile.ZipFile(pieces, "w", zipfile.ZIP_DEFLATED) as archive:  # type: ignore[call-overload]  # writes
        archive.write(VERIFY, f"{study.name}/{VERIFY.name}")
        yield pieces.drain()
        with tempfile.TemporaryDirectory() as parent:
            folder = Path(parent) / study.name
            write_export(study, folder)
            for path in sorted(path for path in folder.rglob("*") if path.is_file()):
                if path.name == VERIFY.name:
                    continue
                name = path.relative_to(folder).as_posix()
                entry = zipfile.ZipInfo.from_file(path, f"{study.name}/{name}")
                entry.compress_type = zipfile.ZIP_DEFLATED
                with path.open("rb") as source, archive.open(entry, "w") as target:
                    while data := source.read(PIECE):
                        target.write(data)
                        yield pieces.drain()
    yield pieces.drain()


def zip_folder(folder: Path, archive: Any) -> None:
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as bundle:
        for path in sorted(path for path in folder.rglob("*") if path.is_file()):
            bundle.write(path, f"{folder.name}/{path.relative_to(folder).as_posix()}")


# Maps a type to its name in pandas. Unlike int64, Int64 allows missing values.
PANDAS = {"integer": "Int64", "number": "float64", "datetime": "datetime64", "string": "string"}


def columns_markdown() -> str:
    parts = []
    for file, columns in COLUMNS.items():
        rows = "\n".join(
            f"| `{column}` | {PANDAS[type_of(column, file)]} | {text} |"
            for column, text in columns.items()
        )
        parts.append(f"**{file}**\n\n| column | type | meaning |\n|---|---|---|\n{rows}\n")
    return "\n".join(parts)


# Parquet files contain the same values as the CSVs. pyarrow (extra "parquet") writes them in pieces
# to limit memory use. An empty cell becomes null in columns of numbers or times, and an empty
# string in all other columns.
BLOCK = 1 << 24  # bytes of CSV per piece; records are shorter (tasks/formats.LONGEST_LINE)


def writes_parquet() -> bool:
    return find_spec("pyarrow") is not None


def write_parquet(source: Path, target: Path) -> None:
    import pyarrow
    from pyarrow import csv, parquet

    types = {
        "integer": pyarrow.int64(),
        "number": pyarrow.float64(),
        "datetime": pyarrow.timestamp("us", tz="UTC"),
        "string": pyarrow.string(),
    }
    file = source.name
    schema = pyarrow.schema([(name, types[type_of(name, file)]) for name in COLUMNS[file]])
    with (
        csv.open_csv(
            source,
            csv.ReadOptions(block_size=BLOCK),
            csv.ParseOptions(newlines_in_values=True),
            csv.ConvertOptions(column_types=schema, null_values=[""]),
        ) as reader,
        parquet.ParquetWriter(target, schema, compression="zstd") as writer,
    ):
        for batch in reader:
            writer.write_batch(batch)
