"""Active time: pages send activity signals, and the server measures with its own clock.

A page sends pings while it is visible and has been used recently. Each ping adds the time
since the last activity, up to the study's cut-off (docs/statistics.md#active-time). The
wait for a decision and breaks between two parts do not count: waiting is paid separately
(annotation/pay/ledger.py), and a break is not work. The page's other reports (REPORTED)
come with a ping or with the answer and are stored only as unverified counts.

The page also sends the draft of an answer after a pause in typing (static/js/drafts.js), so that
another tab or device can continue it. The last write wins. A draft is never an answer: only its
size and format are checked, it is never scored, and it is deleted when the answer is stored.
"""

import json
from collections.abc import Mapping

from django.db import transaction

from annotation.models import Activity, Draft, Participation, Status, Turn
from tasks.clock import database_now
from tasks.sentences import sentence
from tasks.spans import LONGEST_PAYLOAD, AnswerError

# What the page reports about one example, and the highest value that is stored.
REPORTED = {
    "blurs": 100_000, "away_seconds": 10_000_000, "pastes": 100_000, "copies": 100_000,
    "left_after_copy": 100_000, "automated": 1, "no_input": 1, "narrow": 1, "jumps": 100_000,
}  # fmt: skip


def ping(token: str, turn_id: int, fields: Mapping[str, str]) -> bool:
    """Store an activity signal for a turn. Return False if it isn't the current turn.

    Also returns False while the worker is waiting for a decision or is between two parts. Raises
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
            defaults={"seconds": active.total_seconds(), "last_at": now, **_reported(turn, fields)},
        )
        return True


def _current(token: str, turn_id: int) -> Turn | None:
    """Lock a participation. Return the turn if it is current and the worker is working."""
    participation = Participation.objects.lock(token)
    turn = participation.latest_turn()
    is_current = turn is not None and turn.pk == turn_id
    return turn if is_current and participation.status == Status.WORKING else None


def store_reports(turn: Turn, fields: Mapping[str, str]) -> None:
    """Store any reports that the page sent with the answer that was just stored."""
    if not REPORTED.keys().isdisjoint(fields):
        given = {"seconds": turn.answer.active_seconds, "last_at": turn.answer.submitted_at}
        Activity.objects.update_or_create(turn=turn, defaults=given | _reported(turn, fields))


def _reported(turn: Turn, fields: Mapping[str, str]) -> dict[str, float]:
    """Add the counts in these fields to the stored counts."""
    before = getattr(turn, "activity", None)
    counts = {}
    for name, limit in REPORTED.items():
        text = fields.get(name, "0")
        more = int(text) if text.isascii() and text.isdigit() and len(text) < 10 else 0
        counts[name] = min((getattr(before, name) if before else 0) + more, limit)
    return counts


def keep_draft(token: str, turn_id: int, fields: Mapping[str, str]) -> bool:
    """Store a draft. Returns False if the turn isn't current. Raises DoesNotExist, AnswerError."""
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
    """Return the draft as ASCII JSON. Raises AnswerError if it is too long or not an object."""
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
