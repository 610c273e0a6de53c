"""Convert a dataset to a task: read its rows, interpret and sample them, and write files.

The files are then read back, so that they pass the same checks as any other task.
"""

import hashlib
import json
import re
import tempfile
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from tasks.answer_keys import NAME
from tasks.cards import Card, CardError
from tasks.datasets import draft
from tasks.datasets.kinds import Columns
from tasks.datasets.mapping import Item, Mapped, map_rows
from tasks.datasets.reading import Reading, format_of, read
from tasks.datasets.table import DatasetError
from tasks.folders import read_folder
from tasks.formats import FormatError, Record, SplitFile
from tasks.images import as_published

# The method of `draw`, without and with strata. Change the name whenever the method changes.
METHOD, BALANCED = "sha256-webster-1", "sha256-balanced-webster-1"
MAX_SHOTS, MAX_SPLITS, MAX_TEST = 10_000, 100, 100_000
Drawable = tuple[str, str, str]  # unique key, label or "", stratum or ""
Cell = tuple[str, str]  # stratum and label


# Sampling --------------------------------------------------------------------------------------

# Training and test sets are disjoint and stratified by label. Training sets are nested. If there
# are strata, each set has the same number of items from each. Items are ordered by the SHA-256 of
# the seed, the set and the item's key. Unlike a random generator, this guarantees that the same
# texts and seed result in the same sets on every machine and Python version, whatever the order of
# rows.


@dataclass(frozen=True)
class Plan:
    """The sizes of the nested training sets, the number of splits, the test size and the seed."""

    shots: Sequence[int]
    splits: int
    test: int
    seed: int

    def __post_init__(self) -> None:
        limits = (
            ("shots", len(set(self.shots)) == len(self.shots) > 0, "different sizes"),
            ("shots", all(1 <= size <= MAX_SHOTS for size in self.shots), f"1 to {MAX_SHOTS:,}"),
            ("splits", 1 <= self.splits <= MAX_SPLITS, f"1 to {MAX_SPLITS}"),
            ("test", 1 <= self.test <= MAX_TEST, f"1 to {MAX_TEST:,}"),
            ("seed", 0 <= self.seed < 2**63, "0 to 2^63 - 1"),
        )
        for option, is_right, expected in limits:
            if not is_right:
                raise DatasetError("", f"--{option}: expected {expected}")


@dataclass(frozen=True)
class Drawn:
    """The indexes of items in the test set, in each training set (size, number), and in neither."""

    test: list[int]
    trains: dict[tuple[int, int], list[int]]
    unused: list[int]


def draw(items: Sequence[Drawable], plan: Plan, file: str = "") -> Drawn:
    """Draw the sets from items, each of which is (unique key, label, stratum).

    The test set and the training splits are disjoint. Within a split, smaller sets are subsets of
    larger ones. Each set contains the same number of items from every stratum that has enough; the
    seed decides which strata get one more. Within a stratum, the proportions of labels match those
    of all its items as closely as possible. Raises DatasetError if there are too few items.
    """
    sizes = sorted(plan.shots)
    needed = plan.test + plan.splits * sizes[-1]
    if needed > len(items):
        raise DatasetError(
            file,
            f"{len(items):,} different examples, but {needed:,} are needed: {plan.test:,} for the"
            f" test and {plan.splits} x {sizes[-1]:,} for training; lower --test, --splits or"
            " --shots",
        )
    remaining: dict[Cell, list[int]] = {}
    for place in _shuffled(range(len(items)), items, f"{plan.seed}/all"):
        _key, label, stratum = items[place]
        remaining.setdefault((stratum, label), []).append(place)
    weights = {cell: len(places) for cell, places in sorted(remaining.items())}
    test = _take(remaining, weights, plan.test, f"{plan.seed}/test")
    trains = {}
    for number in range(1, plan.splits + 1):
        sample = _take(remaining, weights, sizes[-1], f"{plan.seed}/{number}")
        for size in sizes:
            trains[size, number] = _shuffled(sample[:size], items, f"{plan.seed}/{number}/{size}")
    unused = sorted(place for places in remaining.values() for place in places)
    return Drawn(_shuffled(test, items, f"{plan.seed}/test"), trains, unused)


def _take(
    remaining: dict[Cell, list[int]], weights: dict[Cell, int], number: int, salt: str
) -> list[int]:
    """Remove and return `number` items, balanced across strata, and across labels within each.

    Each comes from the stratum with the fewest items so far, and from the label that is furthest
    below its share (Webster's method). As every prefix is balanced, nested sets are, too.
    """
    places: list[int] = []
    cells, strata = Counter[Cell](), Counter[str]()
    ties = {of: hashlib.sha256(f"{salt}/{of}".encode()).digest() for of, _label in weights}

    def order(cell: Cell) -> tuple[Any, ...]:
        stratum, label = cell
        return (-strata[stratum], ties[stratum], weights[cell] / (2 * cells[cell] + 1), label)

    for _turn in range(number):
        cell = max((cell for cell in weights if remaining[cell]), key=order)
        cells[cell] += 1
        strata[cell[0]] += 1
        places.append(remaining[cell].pop())
    return places


def _shuffled(places: Sequence[int], items: Sequence[Drawable], salt: str) -> list[int]:
    def order(place: int) -> bytes:
        return hashlib.sha256(f"{salt}/{items[place][0]}".encode()).digest()

    return sorted(places, key=order)


# Conversion ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class TaskSpec:
    """All options that determine which task is made from a dataset."""

    name: str
    columns: Columns
    plan: Plan
    reading: Reading = field(default_factory=Reading)
    card_keys: Mapping[str, Any] = field(default_factory=dict)
    definitions: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Made:
    """A task that hasn't been stored yet.

    `defaults` are the keys of the card that have default values. `made_from` contains all that is
    needed to make the task again from its file.
    """

    card: Card
    files: list[SplitFile]
    made_from: dict[str, Any]
    defaults: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


def name_of(path: Path) -> str:
    stem = path.name.split(".")[0]
    name = "".join(sign if NAME.fullmatch(f"a{sign}") else "-" for sign in stem)
    return name.lstrip("-._")[:60]


def make(path: Path, spec: TaskSpec) -> Made:
    """Make the card and all files. Raises FormatError or CardError."""
    if not NAME.fullmatch(spec.name):
        raise CardError(
            f"invalid name {spec.name[:60]!r} (--name); expected 1 to 60 letters, digits, dots,"
            " hyphens or underscores"
        )
    form = format_of(path, spec.reading.format)
    table = read(path, spec.reading)
    mapped = _with_question(map_rows(table, spec.columns))
    items = mapped.items
    sets = draw([(item.key, item.label, item.stratum) for item in items], spec.plan, path.name)
    places = {place for numbers in sets.trains.values() for place in numbers}
    trained, unused = ([items[p] for p in sorted(numbers)] for numbers in (places, sets.unused))
    source = f"{path.name} (SHA-256 {digest(path)[:16]}…), drawn with seed {spec.plan.seed}"
    fields = {"source": source} | dict(spec.card_keys)
    card, defaults = draft.card_of(spec.name, mapped, trained, unused, fields, spec.definitions)
    unit = f"{table.file}, {table.unit}"
    files = _checked(card, _files(spec.name, items, sets), items, mapped.columns, unit)
    return Made(card, files, _made_from(path, form, spec, mapped), defaults, mapped.notes)


def first_example(path: Path, spec: TaskSpec) -> tuple[Card, Record]:
    """Return the card drafted from all rows, and the first example. Raises FormatError."""
    mapped = _with_question(map_rows(read(path, spec.reading), spec.columns))
    items, details = mapped.items, (spec.card_keys, spec.definitions)
    if not items:
        raise DatasetError(path.name, "contains no usable rows")
    return draft.card_of(spec.name, mapped, items, [], *details)[0], items[0].records[0]


def _with_question(mapped: Mapped) -> Mapped:
    """Add a question to every record: its own, that of its label, or one for all records."""
    columns = mapped.columns
    ask = "" if columns.question else draft.common_question(mapped, columns.ask)
    if not ask:
        return mapped
    items = [
        replace(item, records=tuple(replace(record, question=ask) for record in item.records))
        for item in mapped.items
    ]
    return replace(mapped, items=items)


def _files(prefix: str, items: list[Item], sets: Drawn) -> list[SplitFile]:
    def records(places: list[int]) -> list[Record]:
        return [record for place in places for record in items[place].records]

    trains = [
        SplitFile("train", size, number, f"{prefix}_train_{size}_{number}.jsonl", records(places))
        for (size, number), places in sets.trains.items()
    ]
    return [*trains, SplitFile("test", None, None, f"{prefix}_test.jsonl", records(sets.test))]


def _checked(
    card: Card, files: list[SplitFile], items: list[Item], columns: Columns, unit: str
) -> list[SplitFile]:
    """Return the files as an import would read them. Raises FormatError."""
    numbers = {record.id: item.number for item in items for record in item.records}
    try:
        return as_imported(card, files)
    except FormatError as error:
        by_name = {file.filename: file for file in files}
        if error.line is None or error.file not in by_name:
            raise
        record = by_name[error.file].records[error.line - 1]
        fields = {"answer": columns.gold, "options": columns.options, "context": columns.text}
        fields["answer_start"] = columns.gold
        (column, *_others) = fields.get(error.field or "", ()) or (error.field or "",)
        raise DatasetError(f"{unit} {numbers[record.id]}", error.expected, field=column) from None


def as_imported(card: Card, files: list[SplitFile]) -> list[SplitFile]:
    """Write the files and read them back, as an import does. Raises FormatError."""
    with tempfile.TemporaryDirectory(prefix="handful-") as folder:
        write_folder(Path(folder), card, files)
        return read_folder(Path(folder), card)


def digest(path: Path, pattern: str = "*") -> str:
    """Return the SHA-256 of a file, or of the names and contents of the files in a folder."""
    total = hashlib.sha256()
    if path.is_file():
        return hashlib.sha256(path.read_bytes()).hexdigest()
    for file in sorted(file for file in path.rglob(pattern) if file.is_file()):
        total.update(f"{file.relative_to(path).as_posix()}\0{digest(file)}\n".encode())
    return total.hexdigest()


def _made_from(path: Path, form: str, spec: TaskSpec, mapped: Mapped) -> dict[str, Any]:
    columns = asdict(mapped.columns)
    return {
        "file": path.name,
        "sha256": digest(path),
        "format": form,
        "reading": {key: value for key, value in asdict(spec.reading).items() if value},
        "columns": {key: value for key, value in columns.items() if value},
        "shots": sorted(spec.plan.shots),
        "splits": spec.plan.splits,
        "test": spec.plan.test,
        "seed": spec.plan.seed,
        "method": BALANCED if spec.columns.stratum else METHOD,
        "different_texts": len(mapped.items),
        "notes": mapped.notes,
    }


CARD_FILE = "task.toml"


def write_folder(folder: Path, card: Card, files: Sequence[SplitFile]) -> None:
    """Write the card and all files to an existing folder, which must not contain them yet."""
    (folder / CARD_FILE).write_text(toml(card.as_dict()), encoding="utf-8")
    for file in files:
        with (folder / file.filename).open("x", encoding="utf-8", newline="\n") as lines:
            for record in file.records:
                lines.write(json.dumps(line(record), ensure_ascii=False) + "\n")


def line(record: Record) -> dict[str, Any]:
    context = [as_published(segment) for segment in record.context]
    answer: list[Any] = list(record.gold)
    if record.gold_starts is not None:
        answer = [
            {"text": text, "answer_start": start}
            for text, start in zip(record.gold, record.gold_starts, strict=True)
        ]
    fields: dict[str, Any] = {
        "id": record.id,
        "context": context[0] if len(context) == 1 else context,
        "question": record.question,
        "answer": answer,
    }
    fields |= {"options": list(record.options)} if record.options else {}
    optional = {name: getattr(record, name) for name in ("explanation", "stratum")}
    return fields | {name: text for name, text in optional.items() if text}


def toml(card: Mapping[str, Any]) -> str:
    """Format a card as task.toml. TOML requires tables (labels, help, ...) to follow other keys."""
    keys, tables = [], []
    for key, value in card.items():
        if isinstance(value, list) and value and isinstance(value[0], dict):
            for part in value:
                tables += ["", f"[[{key}]]", *(f"{k} = {_value(v)}" for k, v in part.items())]
        else:
            keys.append(f"{key} = {_value(value)}")
    return "\n".join([*keys, *tables]) + "\n"


def _value(value: Any) -> str:
    """Format a TOML value. JSON's strings are valid TOML, except for U+007F to U+009F."""
    if isinstance(value, list):
        return f"[{', '.join(map(_value, value))}]"
    text = json.dumps(value, ensure_ascii=False)
    return re.sub("[\x7f-\x9f]", lambda sign: f"\\u{ord(sign[0]):04x}", text)
