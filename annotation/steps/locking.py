"""The lock of a participation, under which each step of the protocol goes."""

from annotation.frozen import scenario_of
from annotation.models import Participation
from annotation.models.compiled import CompiledQuery

# In no order: the usual one joins the study and the task, whose rows would be locked as well.
LOCKED = CompiledQuery(
    lambda token: (
        Participation.objects.select_for_update(no_key=True).filter(token=token).order_by()
    )
)


def lock(token: str) -> Participation:
    """The participation of that personal link, locked until the transaction ends.

    Every step of a participation goes through this lock, so that two tabs (or a double click) are
    served one after the other. Raises Participation.DoesNotExist.
    """
    for participation in LOCKED.rows(token):
        participation.scenario = scenario_of(participation)
        return participation
    raise Participation.DoesNotExist
