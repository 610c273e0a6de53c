"""The clock shared by all server processes: the database's."""

import time
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

from django.db import connection
from django.utils import timezone

MAX_DRIFT_AGE = 60.0  # seconds
STEP = 0.1  # seconds; more than NTP adjusts a clock within a minute


class Difference(NamedTuple):
    """How far the database's clock is ahead of this machine's, and when this was measured."""

    lead: timedelta
    at: float  # by the monotonic clock
    offset: float  # this machine's clock minus the monotonic one; changes when the clock is set


_drift: Difference | None = None


def database_now() -> datetime:
    """Return the current time by the database's clock.

    Machines' clocks drift apart and get adjusted, but one machine may compare times stored by
    another. The difference is measured once a minute and after changes. SQLite is local and uses
    the machine's own clock.
    """
    global _drift
    if connection.vendor == "sqlite":
        return timezone.now()
    at = time.monotonic()
    offset = time.time() - at
    drift = _drift
    if drift is None or at - drift.at > MAX_DRIFT_AGE or abs(offset - drift.offset) > STEP:
        with connection.cursor() as cursor:
            # now() is the start of the transaction, which may be before a wait for a lock.
            cursor.execute("SELECT clock_timestamp()")
            now = cursor.fetchone()[0]
        drift = _drift = Difference(now - datetime.fromtimestamp(time.time(), UTC), at, offset)
    return timezone.now() + drift.lead
