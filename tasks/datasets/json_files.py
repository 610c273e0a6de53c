"""JSON (a list of objects) and JSON Lines (one object a line)."""

import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tasks.datasets.delimited import decoded
from tasks.datasets.table import MAX_DEPTH, DatasetError, Table, from_objects
from tasks.formats import LONGEST_LINE, strict_json


def read_lines(path: Path, *, encoding: str = "") -> Table:
    """The objects of a JSON Lines file. Raises FormatError."""
    return from_objects(path.name, "line", _objects_of_lines(path, encoding))


def _objects_of_lines(path: Path, encoding: str) -> Iterator[tuple[int, dict[str, Any]]]:
    # Not splitlines: U+2028 and its like may stand in a JSON text.
    for number, line in enumerate(decoded(path, encoding).split("\n"), 1):
        if not line.strip():
            continue
        if len(line) > LONGEST_LINE:
            raise DatasetError(
                path.name, f"line {number}", "",
                f"longer than {LONGEST_LINE:,} characters; expected one object on each line",
            )  # fmt: skip
        yield number, _object(strict_json(line, path.name, number), path.name, f"line {number}")


def read(path: Path, *, encoding: str = "", records: str = "") -> Table:
    """The objects of a JSON file: its list, or the list in its field `records`.

    Raises FormatError.
    """
    data = document(path, encoding)
    if records:
        if not isinstance(data, dict) or records not in data:
            raise DatasetError(path.name, "", records, "there is no such field in the file")
        data = data[records]
    if isinstance(data, dict):
        lists = [key for key, value in data.items() if isinstance(value, list)]
        advice = f", such as {lists[0]}" if lists else ""
        raise DatasetError(
            path.name, "", "",
            "expected a list of objects, found one object; name its field that holds them"
            f" (--records){advice}",
        )  # fmt: skip
    if not isinstance(data, list):
        raise DatasetError(path.name, "", "", "expected a list of objects")
    numbered = enumerate(data, 1)
    return from_objects(
        path.name, "example",
        ((n, _object(value, path.name, f"example {n}")) for n, value in numbered),
    )  # fmt: skip


def document(path: Path, encoding: str = "") -> Any:
    """The whole of a JSON file. Raises FormatError."""
    return strict_json(decoded(path, encoding), path.name, None)


def _object(value: Any, file: str, place: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise DatasetError(file, place, "", f"expected an object, found {type(value).__name__}")
    for key, item in value.items():
        _check(item, file, place, key[:100], 1)
    return value


def _check(value: Any, file: str, place: str, column: str, depth: int) -> None:
    """Not too deep, and no number that is too large to be one."""
    if depth > MAX_DEPTH:
        raise DatasetError(file, place, column, f"nested more than {MAX_DEPTH} levels deep")
    if isinstance(value, float) and not math.isfinite(value):
        raise DatasetError(file, place, column, "a number that is too large; write it as a text")
    if isinstance(value, list | dict):
        for item in value.values() if isinstance(value, dict) else value:
            _check(item, file, place, column, depth + 1)
