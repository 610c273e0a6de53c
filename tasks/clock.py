"""The one clock that all server processes share: the database's."""

import time
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

from django.db import connection
from django.utils import timezone

ASKED_AGAIN_AFTER = 60.0  # seconds
STEP = 0.1  # seconds: more than clocks are slewed in a minute


class Difference(NamedTuple):
    """How far the database's clock is ahead of this machine's, and when that was found."""

    ahead: timedelta
    at: float  # by the clock that nobody can set
    offset: float  # of this machine's clock from that one: it jumps when the clock is set


_known: Difference | None = None


def database_now() -> datetime:
    """The present moment, by the clock of the database.

    Two machines' clocks differ and are set, and one machine compares what the other stored. SQLite
    is a file of one machine, so there it is that machine's clock.
    """
    return timezone.now() if connection.vendor == "sqlite" else timezone.now() + _ahead()


def _ahead() -> timedelta:
    """Asked once a minute, and whenever this machine's clock was set."""
    global _known
    at = time.monotonic()
    offset = time.time() - at
    known = _known
    if known is None or at - known.at > ASKED_AGAIN_AFTER or abs(offset - known.offset) > STEP:
        with connection.cursor() as cursor:
            # Not now(): that is when the transaction began, perhaps before a wait for a lock.
            cursor.execute("SELECT clock_timestamp()")
            theirs = cursor.fetchone()[0]
        known = _known = Difference(theirs - datetime.fromtimestamp(time.time(), UTC), at, offset)
    return known.ahead
