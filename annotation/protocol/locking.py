"""A participation's lock, which each step of the protocol takes."""

from annotation.frozen import scenario_of
from annotation.models import Participation


def lock(token: str) -> Participation:
    """Return that personal link's participation, locked until the transaction ends.

    Every step takes this lock, so that two tabs (or a double click) are processed in sequence.
    Raises Participation.DoesNotExist.
    """
    # Unordered: the default order would join, and also lock, the study and the task.
    rows = Participation.objects.select_for_update(no_key=True).order_by()
    participation = rows.get(token=token)
    participation.scenario = scenario_of(participation)
    return participation
