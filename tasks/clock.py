"""The clock shared by all server processes, which is that of the database."""

import time
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

from django.db import connection
from django.utils import timezone

MAX_DRIFT_AGE = 60.0  # seconds
STEP = 0.1  # seconds; more than NTP adjusts a clock by within a minute


class Difference(NamedTuple):
    """How far the database's clock is ahead of this machine's, and when that was measured."""

    lead: timedelta
    at: float  # on the monotonic clock
    offset: float  # this machine's clock minus the monotonic one; it changes when the clock is set


_drift: Difference | None = None


def database_now() -> datetime:
    """Return the current time on the database's clock.

    The clocks of machines drift apart and get adjusted, but one machine may compare times stored by
    another. The difference is measured once a minute, and after changes. SQLite is local, so it
    uses the machine's own clock.
    """
    global _drift
    if connection.vendor == "sqlite":
        return timezone.now()
    at = time.monotonic()
    offset = time.time() - at
    drift = _drift
    if drift is None or at - drift.at > MAX_DRIFT_AGE or abs(offset - drift.offset) > STEP:
        with connection.cursor() as cursor:
            # now() is the start of the transaction, which may precede a wait for a lock.
            cursor.execute("SELECT clock_timestamp()")
            now = cursor.fetchone()[0]
        drift = _drift = Difference(now - datetime.fromtimestamp(time.time(), UTC), at, offset)
    return timezone.now() + drift.lead
