"""Readers for binary files: XLSX (with openpyxl) and Parquet (with pyarrow, an extra).

XLSX sheets must contain values rather than formulas. Parquet files written by Hugging Face's
`datasets` may encode names as integers (ClassLabel), which are decoded here.
"""

import datetime
import json
import re
import zipfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from itertools import zip_longest
from pathlib import Path
from typing import Any

from tasks.datasets.table import (
    MAX_BYTES,
    MAX_COLUMNS,
    MAX_ROWS,
    DatasetError,
    Row,
    Table,
    header,
    message,
    too_many_rows,
)
from tasks.formats import FormatError, strict_json

LITERALS = r'\[[^]]*\]|"[^"]*"|\\.'  # locales, colours and quoted text in a number format
WIDEST = 4 * MAX_COLUMNS  # cells in a row, including empty ones


def read_xlsx(path: Path, *, sheet: str = "") -> Table:
    """Read the rows of the named sheet, or of the only one. The first row names the columns.

    Raises DatasetError, also for formulas, because files don't always store their results.
    """
    import openpyxl

    try:
        with zipfile.ZipFile(path) as archive:
            size = sum(member.file_size for member in archive.infolist())
        if size > MAX_BYTES:
            raise DatasetError(path.name, message("large_xlsx", limit=MAX_BYTES // 10**6))
        with closing(openpyxl.load_workbook(path, read_only=True)) as book:
            return _sheet_table(book, path.name, sheet)
    except DatasetError:
        raise
    except Exception as error:  # openpyxl raises arbitrary exceptions for broken files
        kind = type(error).__name__
        raise DatasetError(path.name, message("broken_xlsx", kind=kind)) from None


def _sheet_table(book: Any, name: str, sheet: str) -> Table:
    title = _sheet(book, name, sheet)
    cells = _cells(book, title, name)
    first = next(cells, None)
    if first is None:
        raise DatasetError(name, "is empty", f"sheet {title}")
    number, names = first
    table = Table(name, "row", header(name, names, f"row {number}"))
    for number, values in cells:
        if len(values) > len(table.columns):
            expected = f"but the first row has {len(table.columns)} names"
            raise DatasetError(name, f"has {len(values)} values, {expected}", f"row {number}")
        table.add(number, dict(zip_longest(table.columns, values)))
    if not table.rows:
        raise DatasetError(name, "has no rows below the header row", f"sheet {title}")
    return table


def _sheet(book: Any, name: str, title: str) -> str:
    sheets = [sheet.title for sheet in book.worksheets]
    names = ", ".join(sheets) or "none"
    if title and title not in sheets:
        raise DatasetError(name, f"not found; the sheets are: {names}", f"sheet {title}")
    if not title and len(sheets) != 1:
        raise DatasetError(name, f"has {len(sheets)} sheets: select one (--sheet): {names}")
    return title or sheets[0]


def _cells(book: Any, sheet: str, name: str) -> Iterator[tuple[int, list[Any]]]:
    # Ignore the declared size of the sheet, or else openpyxl pads every row to that width.
    book[sheet].reset_dimensions()
    for number, row in enumerate(book[sheet].iter_rows(), 1):
        if number > 2 * MAX_ROWS:
            raise too_many_rows(name)
        if len(row) > WIDEST:
            raise DatasetError(name, message("wide_row", number=len(row)), f"row {number}")
        values = [_value(cell, name, number) for cell in row]
        while values and values[-1] is None:
            values.pop()
        if len(values) > MAX_COLUMNS:
            problem = f"{len(values):,} columns; at most {MAX_COLUMNS}"
            raise DatasetError(name, problem, f"row {number}")
        if values:
            yield number, values


def _value(cell: Any, name: str, number: int) -> Any:
    if cell.value is None or cell.value == "":
        return None
    if cell.data_type in ("f", "e"):
        content = "a formula" if cell.data_type == "f" else f"the error {cell.value}"
        problem = f"holds {content}: copy the column and paste it as values"
        raise DatasetError(name, problem, f"row {number}", cell.column_letter)
    if isinstance(cell.value, datetime.date | datetime.time | datetime.timedelta):
        # openpyxl reads dates as midnight. Only a format with hours or seconds is a time of day.
        shows_time = re.search("[hs]", re.sub(LITERALS, "", cell.number_format), re.IGNORECASE)
        return str(cell.value) if shows_time else str(cell.value).removesuffix(" 00:00:00")
    return cell.value


# Parquet ---------------------------------------------------------------------------------------


MISSING = (
    "requires pyarrow on the server (pip install pyarrow); install it, or save the data as CSV"
    " or JSON Lines"
)


def read_parquet(path: Path) -> Table:
    """Read rows from a Parquet file. Raises DatasetError."""
    with _arrow_errors(path.name) as pyarrow, pyarrow.parquet.ParquetFile(path) as file:
        metadata = file.metadata
        groups = (metadata.row_group(number) for number in range(metadata.num_row_groups))
        _check_size(path.name, metadata.num_rows, sum(group.total_byte_size for group in groups))
        table = file.read()
        described = (table.schema.metadata or {}).get(b"huggingface", b"{}")
        data = strict_json(described.decode("utf-8", "replace"), path.name, None)
        return _table(path.name, table, _features(data, path.name))


@contextmanager
def _arrow_errors(name: str) -> Iterator[Any]:
    """Yield pyarrow if it is installed, and convert its errors to DatasetErrors for this file."""
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError:
        raise DatasetError(name, MISSING) from None
    try:
        yield pyarrow
    except FormatError:
        raise
    except (pyarrow.ArrowException, OSError, ValueError, OverflowError) as error:
        reason = " ".join(str(error).split())[:200]
        raise DatasetError(name, f"cannot be read ({reason}); save it again") from None


def _check_size(name: str, rows: int, size: int) -> None:
    if rows > MAX_ROWS:
        raise too_many_rows(name)
    if size > MAX_BYTES:
        raise DatasetError(name, message("large_parquet", limit=MAX_BYTES // 10**6))


def _features(data: Any, file: str) -> dict[str, Any]:
    """Return the column types that Hugging Face's `datasets` wrote to the file's metadata."""
    info = data.get("info") if isinstance(data, dict) else None
    features = info.get("features") if isinstance(info, dict) else None
    if features is not None and not isinstance(features, dict):
        raise DatasetError(file, "expected an object", field="features")
    return features or {}


def _table(name: str, table: Any, features: dict[str, Any]) -> Table:
    _check_size(name, table.num_rows, table.nbytes)
    table.validate(full=True)  # by default, pyarrow does not check that texts are UTF-8
    if not table.num_rows:
        raise DatasetError(name, "contains no rows")
    header(name, table.column_names[: MAX_COLUMNS + 1], "")
    columns: dict[str, list[Any]] = {}
    unread: dict[str, str] = {}
    for column in table.column_names:
        kind = table.schema.field(column).type
        if not (_is_readable(kind) or _is_written_out(kind)):
            unread[column] = f"its values have the type {kind}"
            continue
        cells = table.column(column)
        # Cast to text in Arrow, because Python cannot represent every Arrow timestamp.
        columns[column] = (cells.cast("string") if _is_written_out(kind) else cells).to_pylist()
    read = Table(name, "row", list(columns), unread=unread)
    for number, values in enumerate(zip(*columns.values(), strict=True), 1):
        read.add(number, dict(zip(columns, values, strict=True)))
    for column in columns:
        if "ClassLabel" in json.dumps(features.get(column)):
            for row in read.rows:
                row.values[column] = _decode(features[column], row.values[column], row, column)
    return read


def _is_readable(kind: Any) -> bool:
    from pyarrow import types

    if types.is_struct(kind):
        return all(_is_readable(field.type) for field in kind)
    lists = (types.is_list, types.is_large_list, types.is_fixed_size_list)
    if types.is_dictionary(kind) or any(is_kind(kind) for is_kind in lists):
        return _is_readable(kind.value_type)
    simple = (
        types.is_string, types.is_large_string, types.is_string_view, types.is_integer,
        types.is_floating, types.is_boolean, types.is_null,
    )  # fmt: skip
    return any(is_kind(kind) for is_kind in simple)


def _is_written_out(kind: Any) -> bool:
    from pyarrow import types

    return any(is_kind(kind) for is_kind in (types.is_date, types.is_timestamp, types.is_decimal))


def _decode(feature: Any, value: Any, row: Row, column: str) -> Any:
    """Replace the integers in a value with the names that they encode, and -1 with None."""
    if value is None or not isinstance(feature, dict | list):
        return value
    if isinstance(feature, list):
        feature = {"_type": "Sequence", "feature": feature[0]}
    kind = feature.get("_type")
    if kind == "ClassLabel":
        names = feature.get("names")
        if value == -1:
            return None
        if not isinstance(names, list) or type(value) is not int or not 0 <= value < len(names):
            raise row.error(column, f"no label has the number {value!r}")
        return str(names[value])
    if isinstance(kind, str):
        inner = feature.get("feature")
        if isinstance(value, list):
            return [_decode(inner, item, row, column) for item in value]
        if isinstance(value, dict) and isinstance(inner, dict):
            return {k: _decode([inner.get(k)], item, row, column) for k, item in value.items()}
        return value
    if isinstance(value, dict):
        return {k: _decode(feature.get(k), item, row, column) for k, item in value.items()}
    return value
