"""Amounts of money as typed: digits, and a point with at most two decimals.

Python accepts more notations (1e4, 1_000, NaN, digits of other scripts): all are refused.
"""

import re
from decimal import Decimal
from typing import Any

from django import forms
from django.core.exceptions import ValidationError

MAX_AMOUNT = Decimal(100_000)  # in currency, exclusive; of one person or place
SENTENCE = "Write an amount such as 1.50."


def read_amount(text: str) -> Decimal:
    """Return the amount in this text, at least 0 and below MAX_AMOUNT.

    Raises ValueError with a sentence.
    """
    text = text.strip()
    if not re.fullmatch(r"[0-9]{1,5}(\.[0-9]{1,2})?", text):
        raise ValueError(SENTENCE)
    return Decimal(text)


class AmountField(forms.DecimalField):
    """A form field for an amount or a number of hours; its bounds are those of the model."""

    default_error_messages = {"invalid": "Enter a number such as 12.50: digits and a point."}

    def to_python(self, value: Any) -> Decimal | None:  # type: ignore[override]  # as in DecimalField
        # Allow the sign, so that the validator can report the minimum.
        if value not in self.empty_values and not re.fullmatch(
            r"-?[0-9]{1,12}(\.[0-9]{1,12})?", str(value).strip()
        ):
            raise ValidationError(self.error_messages["invalid"], code="invalid")
        return super().to_python(value)
