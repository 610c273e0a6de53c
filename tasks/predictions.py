"""A model's predictions, as files: one JSON Lines file per task, shots and split number.

Each line is `{"id": ..., "predicted": [texts]}`, one for each test example of the task. Reading is
strict, and errors name the file, the line and the field, as for the examples (tasks/formats.py).
"""

import io
import re
from collections.abc import Collection
from typing import NamedTuple

from tasks.formats import FormatError, example_id, json_lines, json_object, storable_text

FIELDS = ("id", "predicted")
LARGEST_FILE = 20_000_000  # bytes; one of 600 test examples has some 50,000
FILE_NAME = re.compile(
    r"(?P<task>[^@]+)(?:@(?P<version>[1-9]\d{0,4}))?"
    r"_(?:0|(?P<shots>[1-9]\d{0,4})_(?P<number>[1-9]\d{0,3}))\.jsonl"
)
NAMED = "TASK_SHOTS_SPLIT.jsonl such as MNLI_10_3.jsonl, or TASK_0.jsonl at zero shots"


class Place(NamedTuple):
    """What a file's name says: task (newest version if none), shots, split number (none at 0)."""

    task: str
    version: int | None
    shots: int
    split_number: int | None


def place_of(filename: str) -> Place:
    """Read a name such as MNLI_10_3.jsonl, MNLI_0.jsonl or MNLI@1_10_3.jsonl.

    Raises FormatError.
    """
    found = FILE_NAME.fullmatch(filename)
    if not found:
        raise FormatError(filename, None, None, f"unknown file name; expected {NAMED}")
    version, shots, number = (
        int(digits) if digits else None for digits in found.group("version", "shots", "number")
    )
    return Place(found["task"], version, shots or 0, number)


def parse(data: bytes, filename: str, ids: Collection[str]) -> dict[str, list[str]]:
    """Read a file of predictions: id of each of the examples -> predicted texts, as written.

    Every spelling of "no answer" (`[]`, `[""]`) is the empty list, as it is in gold at import.
    Exactly one line is wanted for each id of `ids`. Raises FormatError.
    """
    if len(data) > LARGEST_FILE:
        raise FormatError(filename, None, None, f"the file is larger than {LARGEST_FILE:,} bytes")
    known = set(ids)
    predicted: dict[str, list[str]] = {}
    lines_of: dict[str, int] = {}
    for line, text in json_lines(io.BytesIO(data), filename):
        found = json_object(text, filename, line, FIELDS)
        identity = example_id(found["id"], filename, line)
        if identity not in known:
            raise FormatError(
                filename, line, "id", f"{identity!r} is the id of no test example of this task"
            )
        if identity in lines_of:
            raise FormatError(
                filename, line, "id",
                f"{identity!r} is already the id of line {lines_of[identity]}",
            )  # fmt: skip
        lines_of[identity] = line
        predicted[identity] = _texts(found["predicted"], filename, line)
    missing = [identity for identity in ids if identity not in predicted]
    if missing:
        named = ", ".join(map(repr, missing[:3])) + (", ..." if len(missing) > 3 else "")
        raise FormatError(
            filename, None, "id",
            f"{len(missing)} of the {len(known)} test examples have no prediction: {named}",
        )  # fmt: skip
    return predicted


def _texts(value: object, filename: str, line: int) -> list[str]:
    if not isinstance(value, list):
        raise FormatError(
            filename, line, "predicted",
            f"expected a list of texts, found {type(value).__name__}",
        )  # fmt: skip
    if value == [""]:
        return []
    for text in value:
        if not storable_text(text, filename, line, "predicted"):
            raise FormatError(
                filename, line, "predicted",
                'expected texts that are not empty, or [""] alone for no answer',
            )  # fmt: skip
    return value
