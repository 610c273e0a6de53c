"""A study done in parts: which part a worker has come for, where it ends, and how it is left.

Prolific allows less than a day for one submission and has no qualifications: the training (or
screening) step is then one study there, and the annotation step one or more others
(docs/prolific.md#what-prolific-allows). A worker who came by a link has no parts:
`Participation.part` is 0.
"""

from annotation.frozen import scenario_of
from annotation.models import JUDGED_STEPS, Participation, ProlificStudy, Status, Step

BEFORE_ANNOTATION = (Step.UPSTREAM, *JUDGED_STEPS)


def ends_before(participation: Participation, position: int) -> bool:
    """Is that position of the annotation step beyond the part that the worker has come for?"""
    if not participation.part:
        return False
    parts = ProlificStudy.objects.filter(scenarios=participation.scenario_id, part__gt=0)
    ends = dict(parts.order_by("part").values_list("part", "until"))
    if participation.part not in ends:
        return False
    stored = ends[participation.part]
    return position >= (_end(participation, max(ends)) if stored is None else stored)


def _end(participation: Participation, last: int) -> int:
    """How many examples of the annotation step are done by the end of this worker's part.

    Part 1 is what comes before that step; who begins with it has an equal share in each part.
    """
    begins_before = any(participation.order_of(step) for step in BEFORE_ANNOTATION)
    parts, done = (
        (last - 1, participation.part - 1) if begins_before else (last, participation.part)
    )
    return round(len(participation.annotation_order) * done / parts) if parts else 0


def enter_sitting(participation: Participation, part: int) -> Participation:
    """Somebody with a seat comes for a part: their state, or the next example if it is a new one.

    The caller holds the study's lock.
    """
    if part <= participation.part:
        return participation
    locked = Participation.objects.select_for_update(no_key=True).get(pk=participation.pk)
    locked.part = part
    locked.save(update_fields=["part"])
    if locked.status != Status.BETWEEN:
        return locked
    last = locked.latest_turn()
    assert last is not None  # between two parts: an example was shown
    locked.scenario = scenario_of(locked)
    position = 0 if last.step in BEFORE_ANNOTATION else last.position + 1
    if not ends_before(locked, position):
        locked.status = Status.WORKING
        locked.save(update_fields=["status"])
        until = last.given.submitted_at if last.given else last.shown_at
        locked.show(Step.ANNOTATION, position, last.channel, after=last, until=until)
    return locked


def stop(participation: Participation) -> None:
    """The part is over: the seat is kept, and the worker leaves with the part's code."""
    participation.status = Status.BETWEEN
    participation.save(update_fields=["status"])
    leave(participation, "completed")


def leave(participation: Participation, outcome: str) -> None:
    """Note with the platform's record of this work how it ended (a key of OUTCOMES)."""
    latest = participation.submissions.order_by("-pk").first()
    if latest is not None and not latest.outcome:
        latest.outcome = outcome
        latest.save(update_fields=["outcome"])
