"""The annotation step: the test examples in order, without reveals or scores.

A study on a platform that limits session length is done in parts (annotation/recruitment/seats.py):
the step then stops at the end of a part and continues when the worker comes for the next one.
"""

from datetime import datetime

from annotation.models import Participation, Status, Step, Turn
from annotation.pay import budget, ledger
from annotation.protocol import activity_summary
from annotation.recruitment import seats
from tasks.clock import database_now


def go_on(participation: Participation, answered: Turn) -> Turn | None:
    """Show the next test example; return None after the last one, or at the end of a part.

    The caller holds the participation's lock and the transaction that stores the answer, so that an
    answered test example is never without its successor.
    """
    if answered.position + 1 < len(participation.annotation_order):
        # Shown with the response to that answer, at the same time.
        given = answered.answer
        return show(
            participation, answered, given.channel,
            position=answered.position + 1, shown_at=given.submitted_at,
        )  # fmt: skip
    participation.status = Status.COMPLETED
    participation.finished_at = database_now()
    participation.signs = activity_summary.for_participation(participation)._asdict()
    participation.save(update_fields=["status", "finished_at", "signs"])
    seats.note_outcome(participation, "completed")
    ledger.settle(participation)
    budget.watch(participation.study_id)
    return None


def show(
    participation: Participation,
    after: Turn,
    channel: str,
    until: datetime | None = None,
    *,
    position: int = 0,
    shown_at: datetime | None = None,
) -> Turn | None:
    """Show a test example, by default the first; return None if the worker's part ends before it.

    Work on the previous example counts up to `until`. The caller holds the lock.
    """
    if seats.ends_before(participation, position):
        seats.end_part(participation)
        return None
    return participation.show(Step.ANNOTATION, position, channel, after, until, shown_at)
