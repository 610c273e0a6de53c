"""A study done in parts: which part a worker has come for, where it ends, and how it is left.

Prolific allows less than a day for one submission and has no qualifications: the training (or
screening) step is then one study there, and the annotation step one or more others
(docs/prolific.md#what-prolific-allows). A worker who came by a link has no parts:
`Participation.part` is 0.
"""

from annotation.frozen import scenario_of
from annotation.models import JUDGED_STEPS, Participation, ProlificStudy, Status, Step


def current(participation: Participation) -> ProlificStudy | None:
    """The study on Prolific whose part this worker is in; None where there are no parts."""
    if not participation.part:
        return None
    return ProlificStudy.objects.filter(
        scenarios=participation.scenario_id, part=participation.part
    ).first()


def ends_before(participation: Participation, position: int) -> bool:
    """Is that position of the annotation step beyond the part that the worker has come for?"""
    part = current(participation)
    if part is None:
        return False
    return part.part == 1 or (part.until is not None and position >= part.until)


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
    position = 0 if last.step in JUDGED_STEPS else last.position + 1
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
