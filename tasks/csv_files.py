"""CSV files according to RFC 4180, with CRLF between records."""

import csv
import io
import json
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from typing import Any, Protocol

from django.http import HttpResponse
from django.utils.http import content_disposition_header

# Spreadsheets interpret text with any of these prefixes as a formula.
FORMULA = ("=", "+", "-", "@", "\t", "\r")


class Writable(Protocol):
    def write(self, text: str, /) -> object: ...


def write_csv(file: Writable, header: Sequence[str], rows: Iterable[Iterable[Any]]) -> int:
    """Write the header, unless it is empty, and the rows. Return the number of rows."""
    writer = csv.writer(file, lineterminator="\r\n")
    if header:
        writer.writerow(header)
    count = 0
    for count, row in enumerate(rows, start=1):  # noqa: B007
        writer.writerow(row)
    return count


def csv_text(header: Sequence[str], rows: Iterable[Iterable[Any]]) -> str:
    r"""Return the header and rows as CSV text.

    >>> csv_text(["name", "n"], [["a, b", 1]])
    'name,n\r\n"a, b",1\r\n'
    """
    file = io.StringIO(newline="")
    write_csv(file, header, rows)
    return file.getvalue()


def moment(value: datetime) -> str:
    """Format a time for CSV files, in ISO 8601 and UTC with microseconds.

    >>> moment(datetime(2026, 11, 24, 15, 37, 40, tzinfo=UTC))
    '2026-11-24T15:37:40.000000Z'
    """
    return value.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def cell(value: Any) -> Any:
    """Format a value for exports: lists as JSON, None as an empty cell, booleans as 0 or 1."""
    if value is None:
        return ""
    if isinstance(value, datetime):
        return moment(value)
    if isinstance(value, bool):
        return int(value)
    return json.dumps(value, ensure_ascii=False) if isinstance(value, list | dict) else value


def no_formula(text: str) -> str:
    """Put an apostrophe before text that spreadsheets would interpret as a formula.

    This is for files that people read. Exports of answers contain the text unchanged.

    >>> no_formula("=1+1")
    "'=1+1"
    """
    return f"'{text}" if text.startswith(FORMULA) else text


TYPES = {
    "csv": "text/csv; charset=utf-8",
    "json": "application/json; charset=utf-8",
    "md": "text/markdown; charset=utf-8",
    "tex": "application/x-tex; charset=utf-8",
}


def saved_as(filename: str) -> dict[str, str]:
    return {"Content-Disposition": content_disposition_header(True, filename)}


def download(content: str | bytes, filename: str, content_type: str = "") -> HttpResponse:
    """Return a file for download. TYPES maps its extension to the content type."""
    kind = content_type or TYPES[filename.rpartition(".")[2]]
    return HttpResponse(content, content_type=kind, headers=saved_as(filename))


def csv_download(
    filename: str, header: Sequence[str], rows: Iterable[Iterable[Any]]
) -> HttpResponse:
    response = download("", filename)
    write_csv(response, header, rows)
    return response
