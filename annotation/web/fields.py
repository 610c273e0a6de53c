"""Form classes and fields used on all pages: unique IDs, and numbers in ASCII digits.

Django's fields reject U+0000, and refer to a field's help and errors with aria-describedby. The IDs
required for this are in templates/_field.html.
"""

import re
from collections.abc import Callable
from decimal import Decimal
from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.safestring import SafeString


class OnPage(forms.BaseForm):
    """One of several forms on a page. `key` names its variable and prefixes its IDs.

    `subject` is what its POST is about (web/posts.py), such as the study.
    """

    key: str

    def __init__(self, *args: Any, subject: Any = None, **kwargs: Any):
        kwargs.setdefault("auto_id", f"{self.key}-%s")
        super().__init__(*args, **kwargs)
        self.subject = subject
        for field in self.fields.values():
            if isinstance(field, RowField):
                field.queryset = field.rows(subject)


class PageForm(OnPage, forms.Form):
    """A form on a page with other forms."""


def by_key(*blank: OnPage, sent: OnPage | None = None) -> dict[str, OnPage]:
    """Return context variables for the forms of a page. `sent` replaces one of the blank forms."""
    return {f"{form.key}_form": form for form in (*blank, sent) if form is not None}


class _Pressed(forms.HiddenInput):
    """A widget that renders nothing, because the form's buttons carry the field's name."""

    def render(self, *_args: Any, **_kwargs: Any) -> SafeString:
        return SafeString("")


class PressedField(forms.ChoiceField):
    widget = _Pressed


class YesNoField(PressedField):
    default_error_messages = {"required": "Press one of the buttons."}

    def __init__(self) -> None:
        super().__init__(choices=[("yes", "yes"), ("no", "no")])

    def clean(self, value: Any) -> bool:
        answers = {True: "yes", False: "no"}
        return super().clean(answers[value] if isinstance(value, bool) else value) == "yes"


class TextField(forms.CharField):
    """A multi-line text field. A line break counts as one character, as it does in browsers."""

    widget = forms.Textarea

    def to_python(self, value: Any) -> str:
        return (super().to_python(value) or "").replace("\r\n", "\n")


def optional_text(label: str, longest: int, help_text: str) -> forms.CharField:
    return forms.CharField(label=label, max_length=longest, required=False, help_text=help_text)


def optional_day(label: str, help_text: str, **options: Any) -> forms.DateField:
    widget = forms.DateInput({"type": "date"})
    return forms.DateField(
        label=label, required=False, widget=widget, help_text=help_text, **options
    )


class FilesInput(forms.ClearableFileInput):
    allow_multiple_selected = True


class FilesField(forms.FileField):
    """A field for any number of files, or for at least one if it is required."""

    widget = FilesInput

    def clean(self, data: Any, initial: Any = None) -> list[Any]:
        files = data or ([None] if self.required else [])
        return [super(FilesField, self).clean(file, initial) for file in files]


def row_field(form: forms.BaseForm, name: str) -> forms.ModelChoiceField:
    field = form.fields[name]
    assert isinstance(field, forms.ModelChoiceField)
    return field


def is_shown_again(request: HttpRequest) -> bool:
    """Return whether this input was preserved from an expired session, to be shown, not stored."""
    return "show_again" in request.POST


class _InDigits(forms.Field):
    """A field for a number in ASCII digits. Python would also accept other scripts and 1_000."""

    pattern: str  # allows a minus sign, so that a validator can report the minimum

    def to_python(self, value: Any) -> Any:
        if value not in self.empty_values and not re.fullmatch(self.pattern, str(value).strip()):
            raise ValidationError(self.error_messages["invalid"], code="invalid")
        return super().to_python(value)


class WholeNumberField(_InDigits, forms.IntegerField):
    pattern = r"-?[0-9]{1,18}"


def _check_row_number(field: forms.Field, value: Any) -> None:
    """Reject values that are not 1 to 18 ASCII digits, because databases reject larger numbers."""
    if not re.fullmatch(r"[0-9]{1,18}", str(value)):
        message = field.error_messages["invalid_choice"]
        raise ValidationError(message, code="invalid_choice", params={"value": value})


class RowField(forms.ModelChoiceField):
    """A field for one of the rows that belong to the subject of the form."""

    def __init__(self, rows: Callable[[Any], QuerySet], **kwargs: Any):
        super().__init__(None, **kwargs)
        self.rows = rows

    def to_python(self, value: Any) -> Any:
        if value not in self.empty_values:
            _check_row_number(self, value)
        return super().to_python(value)


class RowsField(forms.ModelMultipleChoiceField):
    def clean(self, value: Any) -> Any:
        for number in value or ():
            _check_row_number(self, number)
        return super().clean(value)


NO_REASON = "Enter a reason. It is stored with the decision."


def read_amount(text: str) -> Decimal:
    """Parse an amount below 100,000. Raises ValueError with a message for users."""
    text = text.strip()
    if not re.fullmatch(r"[0-9]{1,5}(\.[0-9]{1,2})?", text):
        raise ValueError("Enter an amount such as 1.50.")
    return Decimal(text)


class AmountField(_InDigits, forms.DecimalField):
    """A field for an amount of money or a number of hours. Its range is validated by the model."""

    default_error_messages = {"invalid": "Enter a number such as 12.50, with digits and a point."}
    pattern = r"-?[0-9]{1,12}(\.[0-9]{1,12})?"
