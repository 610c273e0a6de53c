"""The clock that all server processes share: the database's."""

import time
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

from django.db import connection
from django.utils import timezone

ASKED_AGAIN_AFTER = 60.0  # seconds
STEP = 0.1  # seconds: more than NTP slews a clock within a minute


class Difference(NamedTuple):
    """The lead of the database's clock over this machine's, and when it was measured."""

    ahead: timedelta
    at: float  # by the monotonic clock
    offset: float  # of this machine's clock from the monotonic one: changes when the clock is set


_known: Difference | None = None


def database_now() -> datetime:
    """Return the current time by the database's clock.

    Machines' clocks differ and are adjusted, and one machine compares times that another stored.
    SQLite is local, so it uses the machine's own clock.
    """
    return timezone.now() if connection.vendor == "sqlite" else timezone.now() + _ahead()


def _ahead() -> timedelta:
    """Return the lead, measured once a minute and whenever this machine's clock has been set."""
    global _known
    at = time.monotonic()
    offset = time.time() - at
    known = _known
    if known is None or at - known.at > ASKED_AGAIN_AFTER or abs(offset - known.offset) > STEP:
        with connection.cursor() as cursor:
            # Not now(), the start of the transaction, which may precede a wait for a lock.
            cursor.execute("SELECT clock_timestamp()")
            theirs = cursor.fetchone()[0]
        known = _known = Difference(theirs - datetime.fromtimestamp(time.time(), UTC), at, offset)
    return known.ahead
