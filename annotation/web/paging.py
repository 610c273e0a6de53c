"""Lists of rows as JSON in pages, generated like the OpenAPI document from tasks/columns.py."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from textwrap import shorten
from typing import Any, ClassVar

from django.db.models import QuerySet
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.exceptions import NotFound, ValidationError
from rest_framework.pagination import CursorPagination
from rest_framework.request import Request
from rest_framework.response import Response

from annotation.web import form_bodies
from annotation.web.views import ApiView
from tasks.columns import Column


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


Choices = Sequence[str] | Callable[[str], Sequence[str]] | None
PARAMETERS = [
    OpenApiParameter("cursor", str, description="cursor from the URL of another page"),
    OpenApiParameter("page_size", int, description="rows per page, 1 to 1000; default 100"),
]


def _filter(name: str, lookup_and_choices: tuple[str, Choices]) -> OpenApiParameter:
    _lookup, choices = lookup_and_choices
    enum = None if callable(choices) else choices
    return OpenApiParameter(name, str, enum=enum, description=f"only this {name}")


class RowsView(ApiView):
    """Return a list of rows in pages."""  # shown in the OpenAPI document

    # `rows` returns all rows, and `record` converts one to JSON. `filters` maps parameters to
    # (lookup, choices). A function returns the choices for the name in the URL; None accepts any.
    columns: ClassVar[Sequence[Column]]
    summary: ClassVar[str] = ""
    description: ClassVar[str] = ""
    ordering: ClassVar[str] = "pk"
    filters: ClassVar[Mapping[str, tuple[str, Choices]]] = {}

    def __init_subclass__(cls, **kwargs: Any) -> None:
        """Document rows and parameters. Each subclass gets its own GET method for this purpose."""
        super().__init_subclass__(**kwargs)
        if not cls.summary:
            return
        cls.parameters = frozenset({"cursor", "page_size", *cls.filters})

        def get(self: RowsView, request: Request, **names: Any) -> Any:
            return self.listed(request, **names)

        cls.get = extend_schema(
            summary=cls.summary,
            description=cls.description,
            operation_id=f"{cls.__name__.lower()}_list",
            parameters=[*PARAMETERS, *map(_filter, cls.filters, cls.filters.values())],
            responses=page_of(cls.__name__, documented(cls.columns)),
        )(get)

    def listed(self, request: Request, **names: Any) -> Any:
        rows = self._filtered(self.rows(request, **names), request, **names)
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
