"""Cells of tables that hold numbers, which stand to the right: points under points."""

import re

from django import template

register = template.Library()

# 12, 83.7 ± 0.6, 28.4 to 100.0, 3 of 4, < .001, -8.8, 12 min, and the dash of a missing one.
_NUMBER = re.compile(r"[-−+±<≤>≥≈ ]*\.?\d[^a-zA-Z]*( ?(to|of|min|s|h|USD|GBP|EUR)\b[^a-zA-Z]*)*|–")


@register.filter
def is_number(cell: str) -> bool:
    """Is this text of a cell a number, or the dash for none?"""
    return _NUMBER.fullmatch(str(cell).strip()) is not None
