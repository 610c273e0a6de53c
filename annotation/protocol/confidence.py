"""The confidence question, which comes after an answer and before its reveal or the next example.

The design determines after which answers it is asked (Turn.asks_confidence). By then, the answer is
stored and final, but the gold answer has not been shown. Only the first reply counts.
"""

from collections.abc import Mapping

from django.db import transaction
from django.utils.translation import gettext_lazy

from annotation.models import Confidence, Participation, Status, Turn
from annotation.models.answers import LONGEST_REASON
from annotation.protocol import annotation_step, answering
from tasks.clock import database_now
from tasks.spans import AnswerError

# Points and their meaning. The page shows the probability of being correct next to the words.
POINTS = {
    1: gettext_lazy("Not sure at all"),
    2: gettext_lazy("A little sure"),
    3: gettext_lazy("Half sure"),
    4: gettext_lazy("Quite sure"),
    5: gettext_lazy("Completely sure"),
}


def percent(point: int) -> int:
    """Return the probability of a correct answer that a point represents, as a percentage."""
    return 25 * (point - 1)


def give(
    token: str, turn_id: int, fields: Mapping[str, str], channel: str
) -> tuple[Participation, Turn | None]:
    """Store a reply; in the annotation step, also show the next example or end the step.

    Repeating a request, or sending it at another time, has no effect. Returns the participation and
    its latest turn, which is None if the work or this part has just ended. Raises
    Participation.DoesNotExist, answering.PeopleUsePages and AnswerError.
    """
    with transaction.atomic():
        participation = Participation.objects.lock(token)
        answering.check_channel(channel, participation.kind, participation.scenario.design)
        turn = participation.latest_turn()
        if turn is None or turn.pk != turn_id or not turn.awaits_confidence:
            return participation, turn
        if participation.status != Status.WORKING:
            return participation, turn
        value, reason = _read(fields)
        now = max(database_now(), turn.answer.submitted_at)
        active = turn.active_until(now, participation.scenario.idle_cutoff).total_seconds()
        turn.confidence = Confidence.objects.create(
            turn=turn,
            value=value,
            reason=reason if participation.scenario.design.asks_reasons else "",
            seconds=max(0.0, active - turn.answer.active_seconds),
            given_at=now,
            channel=channel,
        )
        if turn.is_revealed:
            return participation, turn
        following = annotation_step.following(turn, channel, now)
        if following is None:
            annotation_step.end(participation, turn)
        else:
            following.save()
        return participation, following


def _read(fields: Mapping[str, str]) -> tuple[int | None, str]:
    """Return the point (None if the question was skipped) and the reason. Raises AnswerError."""
    if fields.get("skip"):
        return None, ""
    point, reason = fields.get("confidence", ""), " ".join(fields.get("reason", "").split())
    if point not in map(str, POINTS):
        raise AnswerError("no_confidence", "Please choose one, or skip this question.")
    if len(reason) > LONGEST_REASON or "\0" in reason:
        raise AnswerError("bad_reason", "Please write one line of at most 200 characters.")
    return int(point), reason
