"""Lists of rows, as JSON in pages, or streamed as CSV or JSON Lines.

JSON, CSV and the OpenAPI document are all generated from the columns (tasks/columns.py).
"""

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from textwrap import shorten
from typing import Any, ClassVar

from django.db.models import QuerySet
from django.http import StreamingHttpResponse
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.exceptions import NotFound, ValidationError
from rest_framework.pagination import CursorPagination
from rest_framework.renderers import BaseRenderer, JSONRenderer
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.utils.encoders import JSONEncoder

from annotation.web import form_bodies
from annotation.web.views import ApiView
from tasks.columns import Column
from tasks.csv_files import TYPES, cell, csv_text, saved_as

PIECE = 500  # rows to read and send at a time


class Pages(CursorPagination):
    """Cursor pagination by primary key, so that new rows don't cause repeats or gaps."""

    def get_page_size(self, request: Request) -> int:
        size = request.query_params.get("page_size", "100")
        if not re.fullmatch("[0-9]{1,5}", size) or not 1 <= int(size) <= 1000:
            raise ValidationError({"page_size": ["Expected a whole number from 1 to 1000."]})
        return int(size)

    def decode_cursor(self, request: Request) -> Any:
        """Decode a cursor as DRF does, but raise NotFound if its position is invalid."""
        cursor = super().decode_cursor(request)
        place = getattr(cursor, "position", None)
        if place is not None and not re.fullmatch("[0-9]{1,18}", str(place)):
            raise NotFound(self.invalid_cursor_message)
        return cursor


class _Streamed(BaseRenderer):
    """A renderer for a `?format=` that the view itself streams. It only renders errors."""

    charset = "utf-8"

    def render(self, data: Any, *_args: Any, **_kwargs: Any) -> bytes:
        return json.dumps(data, cls=JSONEncoder).encode()


class CsvRenderer(_Streamed):
    media_type, format = "text/csv", "csv"


class LinesRenderer(_Streamed):
    media_type, format = "application/jsonl", "jsonl"


Choices = Sequence[str] | Callable[[str], Sequence[str]] | None


class RowsView(ApiView):
    """Return a list of rows in pages."""  # shown in the OpenAPI document

    # `rows` returns all rows, and `record` converts one to JSON. `filters` maps parameters to
    # (lookup, choices). A function returns the choices for the name in the URL; None accepts any.
    columns: ClassVar[Sequence[Column]]
    summary: ClassVar[str] = ""
    description: ClassVar[str] = ""
    ordering: ClassVar[str] = "pk"
    filters: ClassVar[Mapping[str, tuple[str, Choices]]] = {}
    streams: ClassVar[bool] = False
    renderer_classes: ClassVar[list[type[BaseRenderer]]] = [JSONRenderer]

    def __init_subclass__(cls, **kwargs: Any) -> None:
        """Document rows and parameters. Each subclass gets its own GET method for this purpose."""
        super().__init_subclass__(**kwargs)
        if not cls.summary:
            return
        if cls.streams:
            cls.renderer_classes = [JSONRenderer, CsvRenderer, LinesRenderer]
        formats = {"format"} if cls.streams else set()
        cls.parameters = frozenset({"cursor", "page_size", *formats, *cls.filters})

        def get(self: RowsView, request: Request, **names: Any) -> Any:
            return self.listed(request, **names)

        cls.get = extend_schema(
            summary=cls.summary,
            description=cls.description,
            operation_id=f"{cls.__name__.lower()}_list",
            parameters=cls._documented(),
            responses={(200, "application/json"): page_of(cls.__name__, documented(cls.columns))}
            | (
                {(200, kind): str for kind in ("text/csv", "application/jsonl")}
                if cls.streams
                else {}
            ),
        )(get)

    @classmethod
    def _documented(cls) -> list[OpenApiParameter]:
        parameters = [
            OpenApiParameter("cursor", str, description="cursor from the URL of another page"),
            OpenApiParameter("page_size", int, description="rows per page, 1 to 1000; default 100"),
        ]
        if cls.streams:
            description = "json returns pages; csv and jsonl stream all rows at once"
            parameters.append(
                OpenApiParameter(
                    "format", str, enum=["json", "csv", "jsonl"], description=description
                )
            )
        for name, (_lookup, choices) in cls.filters.items():
            only, enum = f"only this {name}", None if callable(choices) else choices
            parameters.append(OpenApiParameter(name, str, enum=enum, description=only))
        return parameters

    def perform_content_negotiation(self, request: Request, force: bool = False) -> Any:
        format = request.query_params.get("format", "json")
        formats = [renderer.format for renderer in self.renderer_classes]
        if not force and self.streams and format not in formats:
            raise ValidationError({"format": [f"Expected one of {', '.join(formats)}."]})
        return super().perform_content_negotiation(request, force)

    def listed(self, request: Request, **names: Any) -> Any:
        rows = self._filtered(self.rows(request, **names), request, **names)
        if self.streams and request.accepted_renderer.format != "json":
            return self._stream(rows, request.accepted_renderer, names)
        pages = Pages()
        pages.ordering = self.ordering
        page = pages.paginate_queryset(rows, request, view=self)
        return pages.get_paginated_response([self.record(row) for row in page or ()])

    def _filtered(self, rows: QuerySet[Any], request: Request, **names: Any) -> QuerySet[Any]:
        for parameter, (lookup, choices) in self.filters.items():
            value = request.query_params.get(parameter)
            if value is None:
                continue
            values = choices(names["name"]) if callable(choices) else choices
            if values is not None and value not in values:
                known = shorten(", ".join(values) or "no value yet", 500, placeholder=" ...")
                raise ValidationError({parameter: [f"Expected one of {known}."]})
            rows = rows.filter(**{lookup: value})
        return rows

    def _stream(
        self, rows: QuerySet[Any], renderer: BaseRenderer, names: dict[str, Any]
    ) -> StreamingHttpResponse:
        records = (self.record(row) for row in rows.order_by("pk").iterator(chunk_size=PIECE))
        name = "-".join([*names.values(), type(self).__name__.lower()])
        is_csv = renderer.format == "csv"
        encode: Callable[[Any], str] = JSONEncoder(ensure_ascii=False).encode
        json_lines = (f"{encode(record)}\n" for record in records)
        return StreamingHttpResponse(
            _csv_lines(self.columns, records) if is_csv else json_lines,
            content_type=TYPES["csv"] if is_csv else "application/jsonl; charset=utf-8",
            headers=saved_as(f"{name}.{renderer.format}"),
        )

    def record(self, row: Any) -> dict[str, Any]:
        return {column.name: column.value(row) for column in self.columns}

    def rows(self, request: Request, **names: Any) -> QuerySet[Any]:
        raise NotImplementedError


# Maps the types of columns' values to the serializer fields that describe them.
KINDS: dict[Any, type[serializers.Field]] = {
    str: serializers.CharField, int: serializers.IntegerField, float: serializers.FloatField,
    bool: serializers.BooleanField, datetime: serializers.DateTimeField,
    dict: serializers.JSONField, list: serializers.ListField,
    list[int]: form_bodies.Numbers, list[str]: form_bodies.Texts,
}  # fmt: skip


def field_of(column: Column, **options: Any) -> serializers.Field:
    return KINDS[column.kind](**options)


def documented(columns: Sequence[Column]) -> dict[str, serializers.Field]:
    return {c.name: field_of(c, help_text=c.meaning, allow_null=True) for c in columns}


def page_of(name: str, fields: dict[str, Any]) -> serializers.Serializer:
    link = {"allow_null": True, "help_text": "URL of that page, or null"}
    return form_bodies.shape(
        f"{name}Page",
        {
            "next": serializers.CharField(**link),
            "previous": serializers.CharField(**link),
            "results": form_bodies.shape(f"{name}Row", fields, many=True),
        },
    )


def small(name: str, summary: str, fields: dict[str, Any]) -> Callable[..., Any]:
    """Document a GET request that returns all rows at once, without paging (`small_list`)."""
    operation_id, responses = f"{name.lower()}_list", page_of(name, fields)
    return extend_schema(summary=summary, operation_id=operation_id, responses=responses)


def small_list(rows: Iterable[Any]) -> Response:
    return Response({"next": None, "previous": None, "results": list(rows)})


def _csv_lines(columns: Sequence[Column], records: Iterable[dict[str, Any]]) -> Iterator[str]:
    yield csv_text([column.name for column in columns], ())
    for record in records:
        yield csv_text((), [[cell(record[column.name]) for column in columns]])
