"""How many people an ARG known to ± w takes, from stated means and SDs: no pilot is needed.

From a pilot it is `cross_task.plan`; both are `analysis/stats/arg.py`, by the same interval.
"""

from dataclasses import dataclass
from typing import Any

from analysis.stats import arg
from analysis.tables.columns import count, points
from tasks.columns import Column

FORMULA = (
    "Half the interval of the ARG is q · √(T · (v(new) + v(base)) / n) / T with v(new) ="
    " (SD / base)², v(base) = (new · SD / base²)² and new = base · (1 + gain): the delta method on"
    " the means of the T tasks, n people in each arm of each. q is the t quantile with"
    " Satterthwaite's degrees of freedom, as the interval of a study has it, or the normal 1.96."
)


@dataclass(frozen=True)
class StatedPlan:
    """People in each arm of each task for ± the wanted width, and what the people at hand give.

    `width` is half their interval, in percent.
    """

    quantile: str
    people: int
    people_in_all: int
    width: float


def tasks(wanted: dict[str, Any]) -> list[arg.TaskGain]:
    """What is expected of each unseen task: StatedGainForm's numbers, the same for all of them."""
    base, spread = wanted["base"] / 100, wanted["sd"] / 100
    new = base * (1 + wanted["gain"] / 100)
    gain = arg.TaskGain("", base, new, spread, spread, 2, 2, arg.why_no_divisor(base))
    return [gain] * wanted["targets"]


def plan(wanted: dict[str, Any]) -> list[StatedPlan]:
    """By t, then by the normal quantile. `wanted` is what StatedGainForm has checked."""
    gains = tasks(wanted)
    rows = []
    for name, by_t in (("t", True), ("normal", False)):
        people = arg.people_needed(wanted["width"] / 100, gains, t=by_t)
        width = 100 * arg.half_width(gains, wanted["people"], t=by_t)
        rows.append(StatedPlan(name, people, 2 * people * len(gains), width))
    return rows


def columns(wanted: dict[str, Any]) -> list[Column]:
    """The columns of the plan, each with what it means for these wishes."""
    width, people = f"{wanted['width']:g}", wanted["people"]
    return [
        Column(
            "quantile", "By", "t, as the interval of a study has it; normal, as in power tables"
        ),
        Column(
            "people",
            f"People an arm for ± {width} %",
            f"the fewest people in each arm of each task whose interval is ± {width} % or less in"
            " about half of such studies",
            "",
            count,
        ),
        Column("people_in_all", "In all", "in two arms of all these tasks", "", count),
        Column(
            "width",
            f"± with {people}",
            f"half the 95 % interval that {people} people in each arm of each task would give",
            "%",
            points,
        ),
    ]
