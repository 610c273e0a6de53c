"""Signs of work: the page tells that somebody is there, the server counts by its own clock.

A page pings while it is visible and was used lately. Each ping adds the time since the last sign of
work, at most the study's cut-off (docs/statistics.md#active-time). Only who is at work is counted:
the wait for a decision is paid by itself (annotation/money/ledger.py), and a break between two
parts is no work. What the page tells beside that (it was left, for how long, something was pasted)
is kept as counts only, and as the page's word, not as a fact.

The page also sends what is not submitted yet, after a pause (static/js/drafts.js): another tab or
device can go on with it, and the last write wins. A draft is never an answer: it is checked as far
as its size and form, never scored, and erased when the answer is stored.
"""

import json
from collections.abc import Mapping

from django.db import transaction

from annotation.models import Activity, Draft, Status, Turn
from annotation.steps.locking import lock
from tasks.clock import database_now
from tasks.sentences import sentence
from tasks.spans import LONGEST_PAYLOAD, AnswerError

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


def keep_draft(token: str, turn_id: int, fields: Mapping[str, str]) -> bool:
    """Keep the draft for that turn; False where it is not the open question (any more).

    Raises Participation.DoesNotExist, and spans.AnswerError for what can be no draft.
    """
    content = _draft(fields.get("draft", ""))
    with transaction.atomic():
        participation = lock(token)
        turn = participation.latest_turn()
        if participation.status != Status.WORKING:
            return False
        if turn is None or turn.pk != turn_id or turn.given is not None:
            return False
        Draft.objects.update_or_create(
            turn=turn, defaults={"content": content, "saved_at": database_now()}
        )
        return True


def _draft(text: str) -> str:
    """A draft as it was sent, a JSON object within the limits of an answer, in ASCII."""
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


def draft_of(turn: Turn) -> tuple[str, float] | None:
    """The draft of that open question as JSON, and its age in seconds; None where there is none."""
    draft = turn.kept_draft
    if draft is None or turn.given is not None:
        return None
    age = (database_now() - draft.saved_at).total_seconds()
    return draft.content, max(0.0, round(age, 3))
