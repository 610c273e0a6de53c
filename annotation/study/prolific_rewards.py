"""The reward on Prolific and the cost of each option, computed from the design."""

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal

from annotation.models import ProlificReward, Study
from annotation.pay.ledger import cents, for_completing, in_currency

# Prolific's minimum in cents per hour, for each currency in which it pays.
LEAST_HOURLY = {"GBP": 600, "USD": 800}


def scenario_reward(study: Study, minutes: Sequence[int], choice: str) -> int:
    """Return the reward in cents for scenarios with these minutes (see ProlificReward).

    Prolific compares it with the longest time. If the design's hourly rate is above Prolific's
    minimum, the reward is at least that minimum for the longest time.
    """
    longest = _reward_for(study, max(minutes))
    if choice == ProlificReward.LONGEST:
        return max(longest, 1)
    minimum = least_reward(LEAST_HOURLY.get(study.currency, 0), max(minutes))
    return max(_reward_for(study, min(minutes)), min(minimum, longest), 1)


def reward_of_one(study: Study, minutes: Sequence[int], choice: str) -> int:
    """Return the reward of a study with a single session, which is at least the base reward."""
    return max(scenario_reward(study, minutes, choice), cents(study.base_reward))


def _reward_for(study: Study, minutes: int) -> int:
    return cents(study.hourly_rate * Decimal(minutes) / 60)


@dataclass(frozen=True)
class Cost:
    """The cost of drafts in currency units, excluding fees. `reward` is for all parts together."""

    choice: str
    what: str
    reward: str
    rewards: str
    bonuses: str
    total: str


def costs_of_design(study: Study, cells: Sequence[tuple[int, int]]) -> list[Cost]:
    """Return the cost of each reward in a single session. `cells` contains (seats, minutes).

    Returns [] if the choice does not matter, or if Prolific does not pay in the currency.
    """
    estimates = [minutes for _seats, minutes in cells]
    one_each = study.participants_choose_scenario or len(set(estimates)) < 2
    if one_each or not study.hourly_rate or study.currency not in LEAST_HOURLY:
        return []
    return [
        cost_of_cells(
            choice, str(label), study,
            [(seats, minutes, reward_of_one(study, estimates, choice)) for seats, minutes in cells],
        )
        for choice, label in ProlificReward.choices
    ]  # fmt: skip


def cost_of_cells(choice: str, label: str, study: Study, cells: list[tuple[int, int, int]]) -> Cost:
    """Return the cost of the cells. Each is a tuple (seats, minutes, reward in cents)."""
    rewards = bonuses = 0
    for seats, minutes, reward in cells:
        rewards += seats * reward
        bonuses += seats * max(for_completing(study, minutes) - reward, 0)
    highest = max((reward for _seats, _minutes, reward in cells), default=0)
    return Cost(choice, label, *map(in_currency, (highest, rewards, bonuses, rewards + bonuses)))


def least_reward(hourly: int, minutes: int) -> int:
    """Return the minimum reward in cents for these minutes at an hourly rate, rounded up."""
    return -(-hourly * minutes // 60)
