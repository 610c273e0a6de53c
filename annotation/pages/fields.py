"""What the forms of all pages share: ids of their own, and numbers in plain digits.

Django's fields refuse U+0000 themselves, and its rendering joins a field to its help and its errors
(aria-describedby, aria-invalid): templates/_field.html gives these the ids that it expects.
"""

import re
from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.http import HttpRequest
from django.utils.safestring import SafeString


class OnPage(forms.BaseForm):
    """One of several forms of a page: `key` begins its ids, and names it in the page's context."""

    key: str

    def __init__(self, *args: Any, **kwargs: Any):
        kwargs.setdefault("auto_id", f"{self.key}-%s")
        super().__init__(*args, **kwargs)


class PageForm(OnPage, forms.Form):
    """A form beside others."""


def by_key(*blank: OnPage, sent: OnPage | None = None) -> dict[str, OnPage]:
    """The forms of a page as its context; the one that was `sent` in place of its blank one."""
    return {f"{form.key}_form": form for form in (*blank, sent) if form is not None}


class _Pressed(forms.HiddenInput):
    """Nothing of its own: the buttons of the form carry its name."""

    def render(self, *_args: Any, **_kwargs: Any) -> SafeString:
        return SafeString("")


class PressedField(forms.ChoiceField):
    """Which button was pressed; the template writes the buttons."""

    widget = _Pressed


class YesNoField(PressedField):
    """Which of two buttons was pressed, as a bool; a program sends true or false."""

    default_error_messages = {"required": "Press one of the buttons."}

    def __init__(self) -> None:
        super().__init__(choices=[("yes", "yes"), ("no", "no")])

    def clean(self, value: Any) -> bool:
        words = {True: "yes", False: "no"}
        return super().clean(words[value] if isinstance(value, bool) else value) == "yes"


class TextField(forms.CharField):
    """Text of several lines: a line break counts as one character, as browsers count it."""

    widget = forms.Textarea

    def to_python(self, value: Any) -> str:
        return (super().to_python(value) or "").replace("\r\n", "\n")


def row_field(form: forms.BaseForm, name: str) -> forms.ModelChoiceField:
    """The form's field of that name, whose choices are rows of a table."""
    field = form.fields[name]
    assert isinstance(field, forms.ModelChoiceField)
    return field


def is_shown_again(request: HttpRequest) -> bool:
    """Is this a form that was kept over a lost session: to be shown filled, and not yet stored?"""
    return "show_again" in request.POST


class WholeNumberField(forms.IntegerField):
    """At most 18 digits from 0 to 9: Python would read digits of every script, and 1_000."""

    def to_python(self, value: Any) -> int | None:
        if value not in self.empty_values and not re.fullmatch(
            r"-?[0-9]{1,18}", str(value).strip()
        ):
            raise ValidationError(self.error_messages["invalid"], code="invalid")
        return super().to_python(value)


def _is_row_number(value: Any) -> bool:
    """At most 18 digits from 0 to 9: larger numbers are no number to a database."""
    return re.fullmatch(r"[0-9]{1,18}", str(value)) is not None


class RowField(forms.ModelChoiceField):
    """A row by its number, out of those that the form may choose from."""

    def to_python(self, value: Any) -> Any:
        if value not in self.empty_values and not _is_row_number(value):
            raise ValidationError(
                self.error_messages["invalid_choice"],
                code="invalid_choice",
                params={"value": value},
            )
        return super().to_python(value)


class RowsField(forms.ModelMultipleChoiceField):
    """Rows by their numbers, out of those that the form may choose from."""

    def clean(self, value: Any) -> Any:
        for number in value or ():
            if not _is_row_number(number):
                raise ValidationError(
                    self.error_messages["invalid_choice"],
                    code="invalid_choice",
                    params={"value": number},
                )
        return super().clean(value)
