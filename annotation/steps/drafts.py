"""Unsent answers: kept while a question is open, so that another tab or device can go on with them.

The page sends what is on it after a pause (static/js/drafts.js); the last write wins. A draft is
never an answer: it is checked as far as its size and form, scored never, and erased when the answer
is stored.
"""

import json
from collections.abc import Mapping

from django.db import transaction

from annotation.models import Draft, Status, Turn
from annotation.steps.locking import lock
from tasks.clock import database_now
from tasks.sentences import sentence
from tasks.spans import LONGEST_PAYLOAD, AnswerError


def keep(token: str, turn_id: int, fields: Mapping[str, str]) -> bool:
    """Keep the draft for that turn; False where it is not the open question (any more).

    Raises Participation.DoesNotExist, and spans.AnswerError for what can be no draft.
    """
    content = _read(fields.get("draft", ""))
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


def _read(text: str) -> str:
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


def of(turn: Turn) -> tuple[str, float] | None:
    """The draft of that open question as JSON, and its age in seconds; None where there is none."""
    draft = turn.kept_draft
    if draft is None or turn.given is not None:
        return None
    age = (database_now() - draft.saved_at).total_seconds()
    return draft.content, max(0.0, round(age, 3))
