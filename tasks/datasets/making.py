"""A dataset becomes a task: read, mapped, drawn, written as files and read again as those are.

What is imported has gone through the same checks as files that somebody wrote by hand.
"""

import hashlib
import tempfile
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from tasks.cards import NAME, Card, CardError
from tasks.datasets import draft, harness, layout
from tasks.datasets.kinds import Columns
from tasks.datasets.mapping import Item, Mapped, map_rows
from tasks.datasets.reading import Reading, format_of, read
from tasks.datasets.sampler import Drawn, Plan, draw
from tasks.datasets.table import DatasetError
from tasks.formats import FormatError, Record, SplitFile, read_folder

METHOD = "sha256-webster-1"  # how sampler.py draws; another way of drawing gets another name


@dataclass(frozen=True)
class Wanted:
    """All that decides what becomes of a file."""

    name: str
    columns: Columns
    plan: Plan
    reading: Reading = field(default_factory=Reading)
    said: Mapping[str, Any] = field(default_factory=dict)  # keys of the card
    definitions: Mapping[str, str] = field(default_factory=dict)
    card: Card | None = None  # instead of one that is drafted


@dataclass(frozen=True)
class Made:
    """A task that is not stored yet.

    `defaults` are keys of the card that nobody said, `made_from` repeats the task from its file,
    `predicted` is what the logged model said for each test example (id -> text), `shots` how many
    examples its prompts held, None where nothing says it.
    """

    card: Card
    files: list[SplitFile]
    defaults: list[str]
    notes: list[str]
    made_from: dict[str, Any]
    predicted: dict[str, str]
    shots: int | None


def name_of(path: Path) -> str:
    """The name of a task after that of its file, with a hyphen for what names cannot have."""
    stem = path.name.split(".")[0]
    name = "".join(sign if NAME.fullmatch(f"a{sign}") else "-" for sign in stem)
    return name.lstrip("-._")[:60]


def make(path: Path, wanted: Wanted) -> Made:
    """Make the task, all of it or nothing. Raises FormatError or CardError."""
    if not NAME.fullmatch(wanted.name):
        raise CardError(
            f"the name (--name) is {wanted.name[:60]!r}: expected 1 to 60 letters, digits, dots,"
            " hyphens or underscores"
        )
    form = format_of(path, wanted.reading.format)
    columns = wanted.columns
    if form == "lm-eval":
        columns = replace(columns, predicted=harness.PREDICTED)
    table = read(path, wanted.reading)
    mapped = _with_question(map_rows(table, columns))
    items = mapped.items
    drawn = draw([(item.key, item.stratum) for item in items], wanted.plan)
    card, defaults = wanted.card, list[str]()
    if card is None:
        places = {place for chosen in drawn.trains.values() for place in chosen}
        trained, rest = ([items[p] for p in sorted(chosen)] for chosen in (places, drawn.rest))
        source = {"source": _source(path, wanted.plan)} | dict(wanted.said)
        card, defaults = draft.card_of(
            wanted.name, mapped, trained, rest, source, wanted.definitions
        )
    files = _files(wanted.name, items, drawn)
    is_logged = form == "lm-eval"
    return Made(
        card,
        _checked(card, files, items, mapped.columns, f"{table.file}, {table.unit}"),
        defaults,
        mapped.notes,
        _made_from(path, form, wanted, mapped),
        {items[p].records[0].id: items[p].predicted or "" for p in drawn.test} if is_logged else {},
        harness.shots_of(path) if is_logged else None,
    )


def _with_question(mapped: Mapped) -> Mapped:
    """Every record has a question: that of its row, of its kind, or the same for all."""
    columns = mapped.columns
    ask = "" if columns.question else draft.asked(mapped, columns.ask)
    if not ask:
        return mapped
    items = [
        replace(item, records=tuple(replace(record, question=ask) for record in item.records))
        for item in mapped.items
    ]
    return replace(mapped, items=items)


def _files(prefix: str, items: list[Item], drawn: Drawn) -> list[SplitFile]:
    def records(places: list[int]) -> list[Record]:
        return [record for place in places for record in items[place].records]

    trains = [
        SplitFile("train", size, number, f"{prefix}_train_{size}_{number}.jsonl", records(places))
        for (size, number), places in drawn.trains.items()
    ]
    return [*trains, SplitFile("test", None, None, f"{prefix}_test.jsonl", records(drawn.test))]


def _checked(
    card: Card, files: list[SplitFile], items: list[Item], columns: Columns, unit: str
) -> list[SplitFile]:
    """The files as they are read when somebody imports them. Raises FormatError."""
    numbers = {record.id: item.number for item in items for record in item.records}
    with tempfile.TemporaryDirectory(prefix="handful-") as folder:
        layout.write_folder(Path(folder), card, files)
        try:
            return read_folder(Path(folder), card)
        except FormatError as error:
            by_name = {file.filename: file for file in files}
            if error.line is None or error.file not in by_name:
                raise
            record = by_name[error.file].records[error.line - 1]
            fields = {"answer": columns.gold, "options": columns.options, "context": columns.text}
            (column, *_more) = fields.get(error.field or "", ()) or (error.field or "",)
            raise DatasetError(f"{unit} {numbers[record.id]}", "", column, error.expected) from None


def _source(path: Path, plan: Plan) -> str:
    return f"{path.name} (SHA-256 {digest(path)[:16]}…), drawn with seed {plan.seed}"


def digest(path: Path) -> str:
    """SHA-256 of a file, or of the names and contents of all files in a folder."""
    total = hashlib.sha256()
    if path.is_file():
        return hashlib.sha256(path.read_bytes()).hexdigest()
    for file in sorted(file for file in path.rglob("*") if file.is_file()):
        total.update(f"{file.relative_to(path).as_posix()}\0{digest(file)}\n".encode())
    return total.hexdigest()


def _made_from(path: Path, form: str, wanted: Wanted, mapped: Mapped) -> dict[str, Any]:
    """What it takes to draw the same task again from the same file."""
    columns = asdict(mapped.columns)
    return {
        "file": path.name,
        "sha256": digest(path),
        "format": form,
        "reading": {key: value for key, value in asdict(wanted.reading).items() if value},
        "columns": {key: value for key, value in columns.items() if value},
        "shots": sorted(wanted.plan.shots),
        "splits": wanted.plan.splits,
        "test": wanted.plan.test,
        "seed": wanted.plan.seed,
        "method": METHOD,
        "different_texts": len(mapped.items),
        "notes": mapped.notes,
    }
