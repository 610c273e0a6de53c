"""Reader for XLSX files, using openpyxl. It reads one sheet's values but not its formulas."""

import datetime
import re
import zipfile
from collections.abc import Iterator
from contextlib import closing
from itertools import zip_longest
from pathlib import Path
from typing import Any

from tasks.datasets.table import (
    MAX_BYTES,
    MAX_COLUMNS,
    MAX_ROWS,
    DatasetError,
    Table,
    header,
    too_many_rows,
)

LITERALS = r'\[[^]]*\]|"[^"]*"|\\.'  # of a number format: locales, colours, quoted signs
WIDEST = 4 * MAX_COLUMNS  # cells in a row, including empty ones


def read(path: Path, *, sheet: str = "") -> Table:
    """Read rows from this sheet, or from the only sheet. The first row names the columns.

    Raises DatasetError, including for formulas, because not every file stores their results.
    """
    import openpyxl

    try:
        with zipfile.ZipFile(path) as archive:
            size = sum(member.file_size for member in archive.infolist())
        if size > MAX_BYTES:
            problem = f"larger than {MAX_BYTES // 10**6} MB unpacked, the limit"
            raise DatasetError(path.name, problem)
        with closing(openpyxl.load_workbook(path, read_only=True)) as book:
            return _table(book, path.name, sheet)
    except DatasetError:
        raise
    except Exception as error:  # openpyxl raises arbitrary exceptions for broken files
        kind = type(error).__name__
        problem = f"cannot be read as XLSX ({kind}); open it and save it again, or as CSV"
        raise DatasetError(path.name, problem) from None


def _table(book: Any, name: str, sheet: str) -> Table:
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
    # Ignore the declared size of the sheet, because openpyxl would pad every row to that width.
    book[sheet].reset_dimensions()
    for number, row in enumerate(book[sheet].iter_rows(), 1):
        if number > 2 * MAX_ROWS:
            raise too_many_rows(name)
        if len(row) > WIDEST:
            problem = f"has a cell in column {len(row):,}; delete it"
            raise DatasetError(name, problem, f"row {number}")
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
        # openpyxl reads days as midnights. A format with hours or seconds shows a time of day.
        shows_time = re.search("[hs]", re.sub(LITERALS, "", cell.number_format), re.IGNORECASE)
        return str(cell.value) if shows_time else str(cell.value).removesuffix(" 00:00:00")
    return cell.value
