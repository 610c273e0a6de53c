"""Random codes that people read and type."""

from django.utils.crypto import get_random_string

LETTERS = "ABCDEFGHJKLMNPQRSTUVWXYZ23456789"  # none looks like another: no I and 1, no O and 0


def new_code(length: int = 8) -> str:
    """An unguessable code."""
    return get_random_string(length, LETTERS)
