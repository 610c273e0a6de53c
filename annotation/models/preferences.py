"""An account's preferences for its own pages."""

import zoneinfo
from functools import cache

from django.conf import settings
from django.core.exceptions import ValidationError
from django.db import models

UTC = "UTC"


@cache
def time_zones() -> tuple[str, ...]:
    """Return the time-zone database's names, such as "Europe/Berlin", with UTC first."""
    places = (name for name in zoneinfo.available_timezones() if "/" in name)
    left_out = ("Etc/", "SystemV/", "US/", "posix/", "right/")
    return (UTC, *sorted(name for name in places if not name.startswith(left_out)))


def check_time_zone(name: str) -> None:
    """Raise ValidationError if `name` is not a time zone."""
    if name not in time_zones():
        raise ValidationError("This is not a time zone. Choose one from the list.")


class Preferences(models.Model):
    """One account's preferences; without a row, all are defaults."""

    user = models.OneToOneField(
        settings.AUTH_USER_MODEL,
        primary_key=True,
        on_delete=models.CASCADE,
        related_name="preferences",
    )
    skips_first_study = models.BooleanField(default=False)  # the steps on the Studies page
    time_zone = models.CharField(max_length=64, default=UTC, validators=[check_time_zone])

    def __str__(self) -> str:
        return f"preferences of {self.user}"
