"""A per-process cache of study rows that a seat has frozen; tasks/frozen.py caches tasks.

`clear` empties both.
"""

import copy
from datetime import timedelta
from functools import lru_cache

from annotation.models import Participation, Scenario, Turn
from tasks import frozen as tasks_frozen

# Those parts of the frozen design that pages and steps need at every turn.
FROM_STUDY = (
    "shows_help_examples", "auto_advance", "promise", "estimated_minutes", "idle_cutoff",
    "interface_language", "refuses_pastes", "screening_examples", "programs_as_people",
)  # fmt: skip


def scenario_of(participation: Participation) -> Scenario:
    """Return a copy of the participation's scenario with its task.

    The scenario has a seat, so it is frozen (docs/protocol.md#invariants), but its study is not.
    """
    return copy.copy(_scenario(participation.scenario_id))


@lru_cache(maxsize=1024)
def _scenario(pk: int) -> Scenario:
    scenario = Scenario.objects.select_related("task", "study").get(pk=pk)
    # Compute the values that come from the study now, then drop the study, which can change.
    for name in FROM_STUDY:
        getattr(scenario, name)
    del scenario._state.fields_cache["study"]
    return scenario


@lru_cache(maxsize=4096)
def first_worked_before(participation: int) -> timedelta:
    """Return the time that this participation worked before its first example."""
    return Turn.objects.filter(participation=participation).earliest("pk").worked_before


def clear() -> None:
    """Clear the caches, including tasks: for tests, where rolled-back rows reuse primary keys."""
    _scenario.cache_clear()
    first_worked_before.cache_clear()
    tasks_frozen.clear()
