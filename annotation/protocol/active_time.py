"""Active time: pages send signs of work, and the server measures with its clock.

A page sends pings while it is visible and was used recently. Each ping adds the time since the last
sign of work, up to the study's cut-off (docs/statistics.md#active-time). Waiting and breaks do not
count: the wait for a decision is paid separately (annotation/pay/ledger.py), and a break between
two parts is not work. The page's other reports (left, duration, pasted text) are stored only as
counts, unverified.

The page also sends unsent input after a pause (static/js/drafts.js): another tab or device can
continue it, and the last write wins. A draft is never an answer: only its size and form are
checked, it is never scored, and it is erased when the answer is stored.
"""

import json
from collections.abc import Mapping

from django.db import transaction

from annotation.models import Activity, Draft, Participation, Status, Turn
from tasks.clock import database_now
from tasks.sentences import sentence
from tasks.spans import LONGEST_PAYLOAD, AnswerError

MAX_PER_PING = 1000


def ping(token: str, turn_id: int, fields: Mapping[str, str]) -> bool:
    """Store a sign of work on that turn; return False if it is not (or no longer) the current one.

    Also returns False while the worker waits for a decision or is between two parts. Raises
    Participation.DoesNotExist.
    """
    with transaction.atomic():
        turn = _current(token, turn_id)
        if turn is None:
            return False
        now = database_now()
        active = turn.active_until(now, turn.participation.scenario.idle_cutoff)
        Activity.objects.update_or_create(
            turn=turn,
            defaults={
                "seconds": active.total_seconds(),
                "last_at": now,
                **_told(turn, fields),
            },
        )
        return True


def _current(token: str, turn_id: int) -> Turn | None:
    """Lock a participation; return that turn if it is its current one and the worker is at work."""
    participation = Participation.objects.lock(token)
    turn = participation.latest_turn()
    is_current = turn is not None and turn.pk == turn_id
    return turn if is_current and participation.status == Status.WORKING else None


def _told(turn: Turn, fields: Mapping[str, str]) -> dict[str, float]:
    """Return stored counts plus those in this ping, each within limits."""
    before = getattr(turn, "activity", None)
    counts = {}
    for name in ("blurs", "away_seconds", "pastes"):
        text = fields.get(name, "0")
        more = int(text) if text.isascii() and text.isdigit() and len(text) < 10 else 0
        limit = 24 * 3600 if name == "away_seconds" else MAX_PER_PING
        counts[name] = (getattr(before, name) if before else 0) + min(more, limit)
    return counts


def keep_draft(token: str, turn_id: int, fields: Mapping[str, str]) -> bool:
    """Store the draft for that turn; return False if it is not (or no longer) the open question.

    Raises Participation.DoesNotExist, and spans.AnswerError for an invalid draft.
    """
    content = _draft(fields.get("draft", ""))
    with transaction.atomic():
        turn = _current(token, turn_id)
        if turn is None or turn.given is not None:
            return False
        Draft.objects.update_or_create(
            turn=turn, defaults={"content": content, "saved_at": database_now()}
        )
        return True


def _draft(text: str) -> str:
    """Return a draft as ASCII: a JSON object within the limits of an answer."""
    problem = AnswerError("bad_draft", sentence("The draft could not be read."))
    if len(text) > LONGEST_PAYLOAD:
        raise problem
    try:
        content = json.loads(text)
        if isinstance(content, dict):
            return json.dumps(content)
    except (ValueError, RecursionError):
        pass
    raise problem
