"""A per-process cache of study rows that a seat has frozen; tasks/frozen.py caches tasks.

`clear` empties both.
"""

import copy
from functools import lru_cache

from annotation.models import Participation, Scenario
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


def clear() -> None:
    """Clear the cache, including tasks: for tests, where rolled-back rows reuse primary keys."""
    _scenario.cache_clear()
    tasks_frozen.clear()
