"""Read the files of a task, whose names identify their splits, from a folder."""

import re
from collections import Counter
from pathlib import Path

from tasks.cards import Card
from tasks.formats import FormatError, Record, SplitFile, read_records
from tasks.images import CLEAN, FOLDER

FILE_NAME = re.compile(
    r"(?P<prefix>.+?)_(?:(?P<part>train|dev)_(?P<shots>[1-9]\d{0,4})_(?P<number>[1-9]\d{0,3})|test)\.jsonl"
)


def read_folder(folder: Path, card: Card) -> list[SplitFile]:
    """Read `<prefix>_train_<shots>_<number>.jsonl`, the same with `dev`, `<prefix>_test.jsonl`.

    Raises FormatError.
    """
    return [read_split(path, card) for path in layout(folder)]


def is_ignored(name: str) -> bool:
    return name.startswith((".", "README", "LICENSE", "LICENCE"))


def layout(folder: Path) -> list[Path]:
    """List the files of the only task in a folder, without reading them. Raises FormatError."""
    paths, prefixes = [], set()
    for path in sorted(folder.iterdir()):
        name = path.name
        if name in ("task.toml", FOLDER, CLEAN) or is_ignored(name):
            continue
        matched = FILE_NAME.fullmatch(name)
        if not matched or not path.is_file():
            raise FormatError(
                name,
                "unknown file name; expected <task>_train_<shots>_<number>.jsonl,"
                " <task>_dev_<shots>_<number>.jsonl, <task>_test.jsonl or task.toml",
            )
        prefixes.add(matched["prefix"])
        if len(prefixes) > 1:
            raise FormatError(name, f"two tasks in one folder: {sorted(prefixes)}")
        paths.append(path)
    if not any(path.name.endswith("_test.jsonl") for path in paths):
        raise FormatError(folder.name, "no test file; expected <task>_test.jsonl")
    return paths


def read_split(path: Path, card: Card) -> SplitFile:
    """Read a file whose name identifies its split. Raises FormatError."""
    matched = FILE_NAME.fullmatch(path.name)
    if not matched:
        raise FormatError(path.name, "unknown file name")
    records = read_records(path, card, explained=matched["shots"] is not None)
    if matched["shots"] is None:
        return SplitFile("test", None, None, path.name, records)
    shots = int(matched["shots"])
    _check_shots(path.name, shots, records, card)
    return SplitFile(matched["part"], shots, int(matched["number"]), path.name, records)


def _check_shots(file: str, shots: int, records: list[Record], card: Card) -> None:
    """Check that k shots are k examples, or at most k per label (rare labels may have fewer)."""
    if card.shots_per_label:
        counts = Counter(gold for record in records for gold in record.gold[:1])
        for label, number in counts.items():
            if number > shots:
                raise FormatError(
                    file,
                    f"expected at most {shots} examples of each label, found {number} of {label!r}",
                )
        return
    # Each text occurs once with every question type.
    expected = shots * max(1, len(card.question_types))
    if len(records) != expected:
        raise FormatError(
            file, f"expected {expected} examples for {shots} shots, found {len(records)}"
        )
