"""What the forms of all pages share: ids of their own, and numbers in plain digits.

Django's fields refuse U+0000 themselves, and its rendering joins a field to its help and its errors
(aria-describedby, aria-invalid): templates/_field.html gives these the ids that it expects.
"""

import re
from typing import Any, ClassVar

from django import forms
from django.core.exceptions import ValidationError


class OnPage(forms.BaseForm):
    """One of several forms of a page: `key` begins its ids, and names it in the page's context."""

    key: ClassVar[str]

    def __init__(self, *args: Any, **kwargs: Any):
        kwargs.setdefault("auto_id", f"{self.key}-%s")
        super().__init__(*args, label_suffix="", **kwargs)

    def problems(self) -> list[str]:
        """The errors that have no visible field to stand at."""
        hidden = [error for field in self.hidden_fields() for error in field.errors]
        return [*self.non_field_errors(), *hidden]


class PageForm(OnPage, forms.Form):
    """A form beside others."""


class WholeNumberField(forms.IntegerField):
    """At most 18 digits from 0 to 9: Python would read digits of every script, and 1_000."""

    def to_python(self, value: Any) -> int | None:
        if value not in self.empty_values and not re.fullmatch(
            r"-?[0-9]{1,18}", str(value).strip()
        ):
            raise ValidationError(self.error_messages["invalid"], code="invalid")
        return super().to_python(value)


class RowField(forms.ModelChoiceField):
    """A row by its number, out of those that the form may choose from."""

    def to_python(self, value: Any) -> Any:
        if value not in self.empty_values and not re.fullmatch(r"[0-9]{1,18}", str(value)):
            raise ValidationError(
                self.error_messages["invalid_choice"],
                code="invalid_choice",
                params={"value": value},
            )
        return super().to_python(value)
