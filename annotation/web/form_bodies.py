"""Validation of JSON bodies with the forms of the corresponding pages.

The keys of a body are names of form fields. `as_form_data` converts a body to the data that a
browser would submit, and `fields_of` describes the fields in the OpenAPI document.
"""

import json
from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from django import forms
from django.core.exceptions import NON_FIELD_ERRORS
from django.http import QueryDict
from drf_spectacular.utils import inline_serializer
from rest_framework import serializers
from rest_framework.exceptions import ParseError
from rest_framework.parsers import JSONParser

from annotation.web.fields import YesNoField
from annotation.web.problems import Unprocessable


class Numbers(serializers.ListField):
    child = serializers.IntegerField()


class Texts(serializers.ListField):
    child = serializers.CharField()


class StrictJSONParser(JSONParser):
    """Parses JSON, rejecting what a database cannot store: U+0000, surrogates and infinities."""

    def parse(self, stream: Any, media_type: Any = None, parser_context: Any = None) -> Any:
        try:
            data = super().parse(stream, media_type, parser_context)
            text = json.dumps(data, ensure_ascii=False, allow_nan=False)
        except (RecursionError, ValueError) as error:
            raise ParseError(f"Not valid JSON: {error}") from None
        try:
            text.encode()
        except UnicodeEncodeError:
            raise ParseError("A string contains an unpaired surrogate.") from None
        if "\\u0000" in text:
            raise ParseError("A string contains the character U+0000.")
        return data


def as_object(data: Any) -> dict[str, Any]:
    """Return the body as a dict, or {} if it is empty. Raises Unprocessable for other types."""
    if isinstance(data, QueryDict):
        return {key: data.get(key) for key in data}
    if data in (None, ""):
        return {}
    if not isinstance(data, dict):
        raise Unprocessable({"body": ["Send an object with field names and values."]})
    return data


def check_known(data: Mapping[str, Any], known_names: Any) -> None:
    """Raise Unprocessable for unknown names, so that typos are never silently ignored."""
    unknown = sorted(str(name) for name in set(data) - set(known_names))
    if unknown:
        listed = ", ".join(sorted(known_names)) or "none"
        raise Unprocessable(
            {name: [f"Unknown field {name!r}. Known fields: {listed}."] for name in unknown}
        )


def read(body_class: type[serializers.Serializer], data: Any) -> dict[str, Any]:
    """Return the values in a body. Raises Unprocessable, including for unknown fields."""
    body = body_class(data=as_object(data))
    check_known(body.initial_data, body.fields)
    if not body.is_valid():
        raise Unprocessable(body.errors)
    return body.validated_data


def as_form_data(data: Mapping[str, Any]) -> dict[str, Any]:
    """Convert JSON values to form data, turning numbers into strings and omitting nulls."""
    return {
        name: [_plain(name, item) for item in value]
        if isinstance(value, list)
        else _plain(name, value)
        for name, value in data.items()
        if value is not None
    }


def _plain(name: str, value: Any) -> str | bool:
    if isinstance(value, str | bool):
        return value
    if isinstance(value, int | float | Decimal):
        return str(value)
    raise Unprocessable({name: ["Expected a string, a number, true or false."]})


def check(form: forms.BaseForm) -> None:
    """Validate the form. Raises Unprocessable with errors by field, or for unexpected lists."""
    several = (forms.SelectMultiple, forms.CheckboxSelectMultiple, forms.MultipleHiddenInput)
    for name, field in form.fields.items():
        if isinstance(form.data.get(name), list) and not isinstance(field.widget, several):
            raise Unprocessable({name: ["Expected a string, a number, true or false."]})
    if not form.is_valid():
        raise Unprocessable(
            {
                ("body" if name == NON_FIELD_ERRORS else name): [str(e) for e in errors]
                for name, errors in form.errors.items()
            }
        )


# OpenAPI document ---------------------------------------------------------------------------------

FormClass = type[forms.Form] | type[forms.ModelForm]
FIELDS: list[tuple[type[forms.Field], type[serializers.Field]]] = [
    (YesNoField, serializers.BooleanField),
    (forms.BooleanField, serializers.BooleanField),
    (forms.DecimalField, serializers.CharField),  # must come before its base class
    (forms.IntegerField, serializers.IntegerField),
    (forms.FileField, serializers.FileField),
    (forms.MultipleChoiceField, Texts),
    (forms.ModelMultipleChoiceField, Numbers),
    (forms.ModelChoiceField, serializers.IntegerField),
]


def fields_of(form: FormClass) -> dict[str, Any]:
    return {name: _field(field) for name, field in form.base_fields.items()}


def fields_of_actions(actions: Mapping[str, FormClass | None]) -> dict[str, Any]:
    """Return the field `action`, and the fields of all actions' forms, made optional."""
    fields: dict[str, Any] = {"action": serializers.ChoiceField(list(actions))}
    for form in actions.values():
        for name, field in form.base_fields.items() if form else ():
            fields.setdefault(name, _field(field, is_optional=True))
    return fields


def _field(field: forms.Field, is_optional: bool = False) -> serializers.Field:
    help_text = " ".join(str(text) for text in (field.label, field.help_text) if text)
    is_required = field.required and not is_optional and not isinstance(field, forms.BooleanField)
    options: dict[str, Any] = {"required": is_required, "help_text": help_text}
    kind = next((shown for kind, shown in FIELDS if isinstance(field, kind)), serializers.CharField)
    return kind(**options)


def shape(name: str, fields: Mapping[str, Any], many: bool = False) -> serializers.Serializer:
    """Return a serializer with these fields for the OpenAPI document."""
    return inline_serializer(name, dict(fields), many=many)
