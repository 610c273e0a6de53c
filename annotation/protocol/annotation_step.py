"""The annotation step: the test examples in order, without reveals or scores.

If a platform limits the length of sessions, the step is split into parts (recruitment/seats.py). It
stops at the end of a part, and continues when the worker comes back for the next part.
"""

from datetime import datetime

from annotation.models import JUDGED_STEPS, Participation, Status, Step, Turn
from annotation.pay import budget, ledger
from annotation.protocol import activity_summary
from annotation.recruitment import seats
from tasks.clock import database_now


def following(answered: Turn, channel: str, shown_at: datetime) -> Turn | None:
    """Return the unsaved next turn, or None after the last example or at the end of a part."""
    participation, position = answered.participation, answered.position + 1
    step = Step.ANNOTATION if answered.step == Step.CHECK else answered.step
    is_last = position == len(participation.order_of(step))
    in_a_part = participation.part and step == Step.ANNOTATION
    if is_last or (in_a_part and seats.ends_before(participation, position)):
        return None
    return participation.show(step, position, channel, answered, shown_at=shown_at, save=False)


def after_anchors(participation: Participation, turn: Turn, channel: str) -> Turn | None:
    """Show the first example after the anchors. The caller must hold the lock."""
    step = next((step for step in JUDGED_STEPS if participation.order_of(step)), None)
    if step is None:
        return begin(participation, turn, channel)
    return participation.show(step, 0, channel, previous=turn)


def end(participation: Participation, answered: Turn) -> None:
    """Complete the participation, or end the worker's part. The caller must hold the lock."""
    if answered.position + 1 < len(participation.annotation_order):
        seats.end_part(participation)
        return
    summary = activity_summary.for_participation(participation)._asdict()
    participation.store(
        status=Status.COMPLETED, finished_at=database_now(), activity_summary=summary
    )
    seats.note_outcome(participation, "completed")
    ledger.settle(participation)
    budget.watch(participation.study_id)


def begin(
    participation: Participation, previous: Turn, channel: str, until: datetime | None = None
) -> Turn | None:
    """Show the first test example, or return None if the part ends. The caller holds the lock."""
    if participation.part and seats.ends_before(participation, 0):
        seats.end_part(participation)
        return None
    return participation.show(Step.ANNOTATION, 0, channel, previous, until)
