"""The study form's audience fields convert values; study/audience.py validates them."""

import json
import re
from collections.abc import Callable
from typing import Any

from django import forms
from django.core.exceptions import ValidationError

from annotation.study import audience
from annotation.web.fields import WholeNumberField

PREFIX = "audience_"
NAMES = [f"{PREFIX}{key}" for key in audience.FIELDS]
SHARE = re.compile(r"(?P<choice>\S.*?)\s+(?P<share>[0-9]{1,4}(?:\.[0-9]{1,4})?)")


def _area(rows: int = 2) -> forms.Textarea:
    return forms.Textarea({"rows": rows})


def _said(key: str) -> dict[str, Any]:
    label, written = audience.FIELDS[key]
    return {"label": label, "required": False, "help_text": f"Optional: {written}."}


def _names(text: str) -> list[str]:
    return [line.strip() for line in text.splitlines() if line.strip()]


def _shares(text: str) -> dict[str, dict[str, float]]:
    quotas = {}
    for line in _names(text):
        name, _colon, rest = line.partition(":")
        shares = [SHARE.fullmatch(part.strip()) for part in rest.split(",")]
        if not name.strip() or not all(shares):
            raise ValidationError(f"Write {line!r} in the form Sex: Female 50, Male 50.")
        read = {found["choice"]: _number(found["share"]) for found in shares if found}
        quotas[name.strip()] = read
    return quotas


def _number(text: str) -> int | float:
    return float(text) if "." in text else int(text)


def _objects(text: str) -> Any:
    try:
        return json.loads(text) if text.strip() else []
    except (ValueError, RecursionError) as error:
        raise ValidationError(f"Not valid JSON: {error}") from None


READ: dict[str, Callable[[str], Any]] = {
    "countries": _names, "languages": _names, "quotas": _shares, "filters": _objects,
    "content_warning": str.strip,
}  # fmt: skip


class AudienceForm(forms.Form):
    """The audience on Prolific, with one field per key."""

    audience_countries = forms.CharField(widget=_area(), **_said("countries"))
    audience_languages = forms.CharField(widget=_area(), **_said("languages"))
    audience_minimum_age = WholeNumberField(**_said("minimum_age"))
    audience_maximum_age = WholeNumberField(**_said("maximum_age"))
    audience_approval_rate = WholeNumberField(**_said("approval_rate"))
    audience_quotas = forms.CharField(widget=_area(), **_said("quotas"))
    audience_filters = forms.CharField(widget=_area(), **_said("filters"))
    audience_content_warning = forms.CharField(widget=_area(), **_said("content_warning"))

    def audience(self) -> dict[str, Any]:
        """Return the audience in the fields; unreadable values become errors on their fields."""
        held = {}
        for key in audience.FIELDS:
            value = self.cleaned_data.get(f"{PREFIX}{key}")
            try:
                value = READ[key](value or "") if key in READ else value
            except ValidationError as error:
                self.add_error(f"{PREFIX}{key}", error)
                continue
            if value not in (None, "", [], {}):
                held[key] = value
        return held

    def refuse_audience(self, sentences: list[str]) -> None:
        """Add the audience's errors to its fields."""
        for sentence in sentences:
            key, _colon, words = sentence.partition(": ")
            name = f"{PREFIX}{key}"
            known = name in self.fields
            if not known or name not in self.errors:
                self.add_error(name if known else None, words[:1].upper() + words[1:])


def as_text(key: str, value: Any) -> Any:
    """Return an audience value as its field shows it."""
    if key in ("countries", "languages"):
        return "\n".join(value)
    if key == "quotas":
        return "\n".join(
            f"{name}: " + ", ".join(f"{choice} {share:g}" for choice, share in shares.items())
            for name, shares in value.items()
        )
    return json.dumps(value, ensure_ascii=False, indent=1) if key == "filters" else value


def shown(held: dict[str, Any]) -> list[tuple[str, Any]]:
    """Return (label, value) for an audience's entries."""
    return [
        (audience.FIELDS[key][0], as_text(key, held[key])) for key in audience.FIELDS if key in held
    ]


def initial(held: dict[str, Any]) -> dict[str, Any]:
    """Return the fields' initial values for an audience."""
    return {f"{PREFIX}{key}": as_text(key, value) for key, value in held.items()}
