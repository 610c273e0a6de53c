"""Signs of work: the page tells that somebody is there, the server counts by its own clock.

A page pings while it is visible and was used lately. Each ping adds the time since the last sign of
work, at most the study's cut-off (docs/statistics.md#active-time). Only who is at work is counted:
the wait for a decision is paid by itself (annotation/money/ledger.py), and a break between two
parts is no work. What the page tells beside that (it was left, for how long, something was pasted)
is kept as counts only, and as the page's word, not as a fact.
"""

from collections.abc import Mapping

from django.db import transaction

from annotation.models import Activity, Status, Turn
from annotation.steps.locking import lock
from tasks.clock import database_now

MAX_PER_PING = 1000


def ping(token: str, turn_id: int, fields: Mapping[str, str]) -> bool:
    """Note a sign of work on that turn; False where it is not the current one (any more).

    False also while the worker waits for a decision or is between two parts.
    Raises Participation.DoesNotExist.
    """
    with transaction.atomic():
        participation = lock(token)
        turn = participation.latest_turn()
        if participation.status != Status.WORKING:
            return False
        if turn is None or turn.pk != turn_id:
            return False
        now = database_now()
        active = turn.active_until(now, participation.scenario.idle_cutoff)
        Activity.objects.update_or_create(
            turn=turn,
            defaults={
                "seconds": active.total_seconds(),
                "last_at": now,
                **_told(turn, fields),
            },
        )
        return True


def _told(turn: Turn, fields: Mapping[str, str]) -> dict[str, float]:
    """Counts so far plus what this ping tells, each within reason."""
    before = getattr(turn, "activity", None)
    counts = {}
    for name in ("blurs", "away_seconds", "pastes"):
        text = fields.get(name, "0")
        more = int(text) if text.isascii() and text.isdigit() and len(text) < 10 else 0
        limit = 24 * 3600 if name == "away_seconds" else MAX_PER_PING
        counts[name] = (getattr(before, name) if before else 0) + min(more, limit)
    return counts
