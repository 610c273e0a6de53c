"""What somebody with an account chose for their own pages."""

import zoneinfo
from functools import cache

from django.conf import settings
from django.core.exceptions import ValidationError
from django.db import models

UTC = "UTC"


@cache
def time_zones() -> tuple[str, ...]:
    """Names of places in the time-zone database, and UTC first: "Europe/Berlin"."""
    places = (name for name in zoneinfo.available_timezones() if "/" in name)
    left_out = ("Etc/", "SystemV/", "US/", "posix/", "right/")
    return (UTC, *sorted(name for name in places if not name.startswith(left_out)))


def check_time_zone(name: str) -> None:
    """Raises ValidationError for what names no time zone."""
    if name not in time_zones():
        raise ValidationError("This is not the name of a time zone: choose one from the list.")


class Preferences(models.Model):
    """Of one account; without a row everything is as on the first day."""

    user = models.OneToOneField(
        settings.AUTH_USER_MODEL,
        primary_key=True,
        on_delete=models.CASCADE,
        related_name="preferences",
    )
    skips_first_study = models.BooleanField(default=False)  # the steps on the page Studies
    time_zone = models.CharField(max_length=64, default=UTC, validators=[check_time_zone])

    def __str__(self) -> str:
        return f"preferences of {self.user}"
