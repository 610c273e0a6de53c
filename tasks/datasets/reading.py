"""Choose the reader for a file by the file's name or by the given format."""

import inspect
from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path

from tasks.datasets import binary, tagged, texts
from tasks.datasets.table import MAX_BYTES, DatasetError, Table, message, option

READERS: dict[str, Callable[..., Table]] = {
    "csv": partial(texts.read_delimited, usual=","),
    "tsv": partial(texts.read_delimited, usual="\t"),
    "xlsx": binary.read_xlsx,
    "json": texts.read_json,
    "jsonl": texts.read_json_lines,
    "parquet": binary.read_parquet,
    "conll": tagged.read_conll,
    "doccano": tagged.read_doccano,
    "label-studio": tagged.read_label_studio,
}
ENDINGS = {
    ".csv": "csv", ".tsv": "tsv", ".xlsx": "xlsx", ".json": "json", ".jsonl": "jsonl",
    ".ndjson": "jsonl", ".parquet": "parquet", ".conll": "conll", ".bio": "conll", ".iob": "conll",
    ".iob2": "conll", ".conll03": "conll",
}  # fmt: skip


@dataclass(frozen=True)
class Reading:
    """How to read a file. All fields except `format` are passed to the reader if they are set."""

    format: str = option(f"one of {', '.join(READERS)}")
    encoding: str = option("such as windows-1252 (default: UTF-8)")
    delimiter: str = option("tab, comma, semicolon, bar or other")
    quoted: bool = option("fields of a TSV are quoted", False)
    no_header: bool = option("name the columns 1, 2, 3", False)
    sheet: str = option("name of the sheet, in XLSX")
    records: str = option("JSON field that contains the examples")


def format_of(path: Path, name: str = "") -> str:
    """Return the format of the file, which is a key of READERS. Raises DatasetError."""
    if name:
        if name not in READERS:
            problem = f"unknown format {name!r}; expected one of {', '.join(READERS)}"
            raise DatasetError(path.name, problem)
        return name
    try:
        return ENDINGS[path.suffix.lower()]
    except KeyError:
        raise DatasetError(
            path.name,
            message("unknown_ending", ending=path.suffix or "(none)", formats=", ".join(READERS)),
        ) from None


def read(path: Path, reading: Reading) -> Table:
    """Read the rows of a file. Raises FormatError, also for options that its reader lacks."""
    if path.is_dir():
        raise DatasetError(path.name, message("folder"))
    name = format_of(path, reading.format)
    if not path.exists():
        raise DatasetError(path.name, "file not found")
    if path.stat().st_size > MAX_BYTES:
        raise DatasetError(path.name, f"larger than {MAX_BYTES // 10**6} MB, the limit; use a part")
    reader = READERS[name]
    parameters = inspect.signature(reader).parameters
    options = {key: value for key, value in asdict(reading).items() if value and key != "format"}
    for key in options:
        if key not in parameters:
            raise DatasetError(path.name, f"--{key.replace('_', '-')} is not valid for {name}")
    return reader(path, **options)
