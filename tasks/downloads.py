"""Responses that a browser saves as files."""

from collections.abc import Iterable, Sequence
from typing import Any

from django.http import HttpResponse
from django.utils.http import content_disposition_header

from tasks.csv_files import write_csv

CSV = "text/csv; charset=utf-8"


def saved_as(filename: str) -> dict[str, str]:
    """Return the header that makes a browser save a response under that name."""
    return {"Content-Disposition": content_disposition_header(True, filename)}


def download(content: str | bytes, filename: str, content_type: str = CSV) -> HttpResponse:
    return HttpResponse(content, content_type=content_type, headers=saved_as(filename))


def csv_download(
    filename: str, header: Sequence[str], rows: Iterable[Iterable[Any]]
) -> HttpResponse:
    response = download("", filename)
    write_csv(response, header, rows)
    return response
