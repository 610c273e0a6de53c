"""The lock of a participation, under which each step of the protocol goes."""

from annotation.frozen import scenario_of
from annotation.models import Participation


def lock(token: str) -> Participation:
    """The participation of that personal link, locked until the transaction ends.

    Every step of a participation goes through this lock, so that two tabs (or a double click) are
    served one after the other. Raises Participation.DoesNotExist.
    """
    # In no order: the usual one joins the study and the task, whose rows would be locked as well.
    rows = Participation.objects.select_for_update(no_key=True).order_by()
    participation = rows.get(token=token)
    participation.scenario = scenario_of(participation)
    return participation
