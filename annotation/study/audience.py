"""The audience of a design: filters and content warnings on Prolific, and form fields.

It is declared before the study opens and frozen with it. Whether Prolific supports a country or
filter is only checked when the study is created there (prolific/studies.py).
"""

import json
import tomllib
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from django import forms
from django.core.exceptions import ValidationError

from annotation.models import Study
from annotation.web.fields import WholeNumberField
from tasks.formats import canonical
from tasks.models import Task

FIELDS = tomllib.loads(Path(__file__).with_name("audience.toml").read_text(encoding="utf-8"))
AGES = (18, 100)
LONGEST_WARNING = 500  # characters


def problems(audience: Any) -> list[str]:
    """Return the errors in an audience, each of which starts with the key and a colon."""
    if not isinstance(audience, dict):
        return ["audience: expected a table."]
    try:
        canonical(audience)
    except (ValueError, RecursionError):
        return ["audience: contains an invalid character or number."]
    keys = ", ".join(FIELDS)
    errors = [f"{key}: unknown key. Known keys: {keys}." for key in audience if key not in FIELDS]
    for key in FIELDS:
        if key in audience and (error := _problem(key, audience[key])):
            errors.append(f"{key}: {error}")
    lowest, highest = audience.get("minimum_age"), audience.get("maximum_age")
    if not errors and lowest is not None and highest is not None and lowest > highest:
        errors.append("maximum_age: less than the minimum age.")
    if not errors and (twice := sorted(_asked_twice(audience))):
        errors.append(f"filters: {', '.join(twice)} is set by another field of the audience.")
    return errors


def _problem(key: str, value: Any) -> str:
    if key in ("countries", "languages"):
        right = isinstance(value, list) and all(_is_text(item) for item in value)
        if not right:
            return "expected a list of names."
        twice = [name for name in value if value.count(name) > 1]
        return f"{twice[0]} is named twice." if twice else ""
    if key in ("minimum_age", "maximum_age"):
        right = type(value) is int and AGES[0] <= value <= AGES[1]
        return "" if right else f"expected {FIELDS[key]['description']}."
    if key == "approval_rate":
        right = type(value) in (int, float) and 0 <= value <= 100
        return "" if right else f"expected {FIELDS[key]['description']}."
    if key == "filters":
        return _problem_of_filters(value)
    if not isinstance(value, str) or len(value) > LONGEST_WARNING or "\0" in value:
        return f"expected a text of at most {LONGEST_WARNING} characters."
    return ""


def _problem_of_filters(value: Any) -> str:
    if not isinstance(value, list) or not all(isinstance(item, dict) for item in value):
        return "expected a list of objects."
    for condition in value:
        if not _is_text(condition.get("filter_id")):
            return "each object needs a filter_id."
        if condition["filter_id"] in ("and", "or"):
            if not condition.get("selected_filters"):
                return f"{condition['filter_id']} needs selected_filters."
            if error := _problem_of_filters(condition["selected_filters"]):
                return error
        elif not isinstance(condition.get("selected_values"), list) and not isinstance(
            condition.get("selected_range"), dict
        ):
            return f"{condition['filter_id']} needs selected_values or selected_range."
    return ""


def _asked_twice(audience: dict[str, Any]) -> set[str]:
    keys = {
        "age": {"minimum_age", "maximum_age"}, "approval_rate": {"approval_rate"},
        "current-country-of-residence": {"countries"}, "fluent-languages": {"languages"},
    }  # fmt: skip
    filter_ids = {condition["filter_id"] for condition in audience.get("filters", [])}
    return {name for name in filter_ids & keys.keys() if keys[name] & audience.keys()}


def _is_text(value: Any) -> bool:
    return isinstance(value, str) and bool(value.strip()) and "\0" not in value


# Fields of the study form, which convert the values -----------------------------------------------


PREFIX = "audience_"
NAMES = [f"{PREFIX}{key}" for key in FIELDS]
AREA = forms.Textarea({"rows": 2})


def _options(key: str) -> dict[str, Any]:
    texts = FIELDS[key]
    help_text = f"Optional: {texts['description']}."
    return {"label": texts["label"], "required": False, "help_text": help_text}


def _names(text: str) -> list[str]:
    return [line.strip() for line in text.splitlines() if line.strip()]


def _objects(text: str) -> Any:
    try:
        return json.loads(text) if text.strip() else []
    except (ValueError, RecursionError) as error:
        raise ValidationError(f"Not valid JSON: {error}") from None


READ: dict[str, Callable[[str], Any]] = {
    "countries": _names, "languages": _names, "filters": _objects,
    "content_warning": str.strip,
}  # fmt: skip


class AudienceForm(forms.Form):
    audience_countries = forms.CharField(widget=AREA, **_options("countries"))
    audience_languages = forms.CharField(widget=AREA, **_options("languages"))
    audience_minimum_age = WholeNumberField(**_options("minimum_age"))
    audience_maximum_age = WholeNumberField(**_options("maximum_age"))
    audience_approval_rate = WholeNumberField(**_options("approval_rate"))
    audience_filters = forms.CharField(widget=AREA, **_options("filters"))
    audience_content_warning = forms.CharField(widget=AREA, **_options("content_warning"))

    def audience(self) -> dict[str, Any]:
        values = {}
        for key in FIELDS:
            value = self.cleaned_data.get(f"{PREFIX}{key}")
            try:
                value = READ[key](value or "") if key in READ else value
            except ValidationError as error:
                self.add_error(f"{PREFIX}{key}", error)
                continue
            if value not in (None, "", [], {}):
                values[key] = value
        return values

    def refuse_audience(self, sentences: list[str]) -> None:
        for message in sentences:
            key, _colon, reason = message.partition(": ")
            name = f"{PREFIX}{key}"
            has_field = name in self.fields
            if not has_field or name not in self.errors:
                self.add_error(name if has_field else None, reason[:1].upper() + reason[1:])


def as_text(key: str, value: Any) -> Any:
    if key in ("countries", "languages"):
        return "\n".join(value)
    return json.dumps(value, ensure_ascii=False, indent=1) if key == "filters" else value


def add_warning(study: Study, tasks: Iterable[Task | None]) -> None:
    """Set the content warning of a draft, if it has none, from the cards of its tasks."""
    texts = sorted({task.card.content_warning or "" for task in tasks if task} - {""})
    if texts and isinstance(study.audience, dict) and not study.audience.get("content_warning"):
        study.audience = study.audience | {"content_warning": " ".join(texts)}


def as_rows(values: dict[str, Any]) -> list[tuple[str, Any]]:
    return [(FIELDS[key]["label"], as_text(key, values[key])) for key in FIELDS if key in values]


def initial(values: dict[str, Any]) -> dict[str, Any]:
    return {f"{PREFIX}{key}": as_text(key, value) for key, value in values.items()}
