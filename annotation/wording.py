"""How quantities are put into words for people, in pages of every kind."""

from datetime import timedelta


def in_words(time: timedelta) -> str:
    """1 h 12 min."""
    hours, minutes = divmod(round(time.total_seconds() / 60), 60)
    return f"{hours} h {minutes} min" if hours else f"{minutes} min"
