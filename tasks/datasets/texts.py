"""Readers for CSV, TSV, JSON and JSON Lines. If a file needs an option, the error names it.

In CSV files, quotation marks enclose fields (RFC 4180). In TSV files, they are ordinary characters
(IANA text/tab-separated-values) unless `quoted` is set.
"""

import csv
import io
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tasks.datasets.table import (
    MAX_DEPTH,
    DatasetError,
    Table,
    check_name,
    from_objects,
    header,
    message,
)
from tasks.formats import LONGEST_LINE, strict_json

MARKS = {b"\xef\xbb\xbf": "utf-8-sig", b"\xff\xfe": "utf-16", b"\xfe\xff": "utf-16"}
NAMES = {";": "semicolons", "\t": "tabs", "|": "vertical bars", ",": "commas"}
WORDS = {"tab": "\t", "comma": ",", "semicolon": ";", "bar": "|"}


def decoded(path: Path, encoding: str = "") -> str:
    """Decode a file as the given encoding, else by its byte order mark, else as UTF-8."""
    data = path.read_bytes()
    marked = next((name for mark, name in MARKS.items() if data.startswith(mark)), "")
    name = encoding or marked or "utf-8"
    try:
        return data.decode(name).removeprefix("\ufeff")
    except UnicodeError as error:
        start = getattr(error, "start", 0)
        line = data.count(b"\n", 0, start) + 1
        problem = (
            f"not valid {name.upper()} (byte {start + 1} of the file); save the file as UTF-8, or"
            " set --encoding, such as windows-1252"
        )
        raise DatasetError(path.name, problem, f"line {line}") from None
    except (LookupError, ValueError):
        raise DatasetError(path.name, f"unknown encoding {name!r}") from None


def read_delimited(
    path: Path, *, usual: str, encoding: str = "", delimiter: str = "", quoted: bool = False,
    no_header: bool = False,
) -> Table:  # fmt: skip
    """Read rows. With `no_header`, the columns are named 1, 2, 3. Raises DatasetError.

    `usual` is the format's separator. In a CSV file, quotation marks always enclose fields.
    """
    name, quoted = path.name, quoted or usual == ","
    delimiter = WORDS.get(delimiter, delimiter) or usual
    if len(delimiter) != 1 or delimiter in '"\r\n':
        raise DatasetError(name, message("bad_separator", delimiter=delimiter))
    text = decoded(path, encoding)
    if "\0" in text:
        line = text.count("\n", 0, text.index("\0")) + 1
        raise DatasetError(name, "contains U+0000; save the file as UTF-8", f"line {line}")
    lines = _lines(text, delimiter, quoted, name)
    first = next(lines, None)
    if first is None:
        raise DatasetError(name, "the file is empty")
    number, names = first
    _check_delimiter(name, names)
    if no_header:
        names = [str(place + 1) for place in range(len(names))]
        lines = _lines(text, delimiter, quoted, name)
    table = Table(name, "line", header(name, names, f"line {number}"))
    for number, fields in lines:
        if len(fields) != len(table.columns):
            raise DatasetError(
                name,
                message("number_of_fields", number=len(table.columns), found=len(fields)),
                f"line {number}",
            )
        table.add(number, dict(zip(table.columns, fields, strict=True)))
    if not table.rows:
        raise table.error("", "no rows below the header line")
    if not quoted:
        table.notes += _quotation_marks(table)
    return table


def _lines(text: str, delimiter: str, quoted: bool, name: str) -> Iterator[tuple[int, list[str]]]:
    """Yield each record that is not blank, as the number of its first line and its fields."""
    reader = csv.reader(
        io.StringIO(text, newline=""),
        delimiter=delimiter,
        quoting=csv.QUOTE_MINIMAL if quoted else csv.QUOTE_NONE,
        strict=True,
    )
    while True:
        number = reader.line_num + 1
        try:
            fields = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            problem = f"cannot be read ({error}); check its quotation marks and shorten long fields"
            raise DatasetError(name, problem, f"line {number}") from None
        if fields and (len(fields) > 1 or fields[0].strip()):
            yield number, fields


def _check_delimiter(name: str, fields: list[str]) -> None:
    if len(fields) == 1:
        for delimiter, called in NAMES.items():
            if delimiter in fields[0]:
                problem = (
                    f"the fields seem to be separated by {called}; set --delimiter to"
                    f" {next(w for w, sign in WORDS.items() if sign == delimiter)}"
                )
                raise DatasetError(name, problem, "line 1")


def _quotation_marks(table: Table) -> Iterator[str]:
    for column in table.columns:
        values = (row.values[column] for row in table.rows)
        if count := sum(len(v) > 1 and v[0] == v[-1] == '"' for v in values):
            yield (
                f"column {column}: {count:,} values begin and end with a quotation mark, which was"
                " not removed; if the marks enclose fields, as in a CSV, use --quoted"
            )


# JSON -------------------------------------------------------------------------------------------


def read_json_lines(path: Path, *, encoding: str = "") -> Table:
    """Read the objects in a JSON Lines file. Raises FormatError."""
    return from_objects(path.name, "line", _objects_of_lines(path, encoding))


def _objects_of_lines(path: Path, encoding: str) -> Iterator[tuple[int, dict[str, Any]]]:
    # Don't use splitlines: JSON strings may contain U+2028 and similar separators.
    for number, line in enumerate(decoded(path, encoding).split("\n"), 1):
        if not line.strip():
            continue
        if len(line) > LONGEST_LINE:
            problem = f"longer than {LONGEST_LINE:,} characters; expected one object on each line"
            raise DatasetError(path.name, problem, f"line {number}")
        yield number, _object(strict_json(line, path.name, number), path.name, f"line {number}")


def read_json(path: Path, *, encoding: str = "", records: str = "") -> Table:
    """Read a list of objects, or the field `records` that contains it. Raises FormatError."""
    data = document(path, encoding)
    if records:
        if not isinstance(data, dict) or records not in data:
            raise DatasetError(path.name, "field not found in the file", field=records)
        data = data[records]
    if isinstance(data, dict):
        lists = [key for key, value in data.items() if isinstance(value, list)]
        advice = f", such as {lists[0]}" if lists else ""
        raise DatasetError(path.name, message("no_list", advice=advice))
    if not isinstance(data, list):
        raise DatasetError(path.name, "expected a list of objects")
    numbered = ((n, _object(value, path.name, f"example {n}")) for n, value in enumerate(data, 1))
    table = from_objects(path.name, "example", numbered)
    if {"data", "annotations"} <= {*table.columns}:
        table.notes.append("for an export of Label Studio, set --format label-studio")
    return table


def document(path: Path, encoding: str = "") -> Any:
    """Parse a JSON file. Raises FormatError."""
    return strict_json(decoded(path, encoding), path.name, None)


def _object(value: Any, file: str, place: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise DatasetError(file, f"expected an object, found {type(value).__name__}", place)
    for key, item in value.items():
        check_name(file, key, place)
        _check(item, file, place, key[:100], 1)
    return value


def _check(value: Any, file: str, place: str, column: str, depth: int) -> None:
    if depth > MAX_DEPTH:
        raise DatasetError(file, f"nested more than {MAX_DEPTH} levels deep", place, column)
    if isinstance(value, float) and not math.isfinite(value):
        raise DatasetError(file, "a number is too large; write it as a text", place, column)
    for key in value if isinstance(value, dict) else ():
        check_name(file, key, place)
    if isinstance(value, list | dict):
        for item in value.values() if isinstance(value, dict) else value:
            _check(item, file, place, column, depth + 1)
