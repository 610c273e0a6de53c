"""Rows of a study that a seat has frozen, read once in each process; below them tasks/frozen.py.

`clear` forgets them all.
"""

import copy
from functools import lru_cache

from annotation.models import Participation, Scenario
from tasks import frozen as tasks_frozen

# Of the frozen design: what pages and steps ask of a scenario at every turn.
FROM_STUDY = (
    "shows_help_examples", "auto_advance", "promise", "estimated_minutes", "idle_cutoff",
    "interface_language", "refuses_pastes", "screening_examples", "programs_as_people",
)  # fmt: skip


def scenario_of(participation: Participation) -> Scenario:
    """The scenario of that participation with its task, as a copy of its own.

    Somebody has a seat in it, so it is frozen (docs/protocol.md#invariants). Its study is not.
    """
    return copy.copy(_scenario(participation.scenario_id))


@lru_cache(maxsize=1024)
def _scenario(pk: int) -> Scenario:
    scenario = Scenario.objects.select_related("task", "study").get(pk=pk)
    # What it takes from the study is worked out now; then the study is let go, as it does change.
    for name in FROM_STUDY:
        getattr(scenario, name)
    del scenario._state.fields_cache["study"]
    return scenario


def clear() -> None:
    """Forget everything, also of tasks: for tests, whose rolled-back rows give keys to others."""
    _scenario.cache_clear()
    tasks_frozen.clear()
