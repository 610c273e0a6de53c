"""How many annotators and examples an interval requires, given the SDs of similar tasks.

The SDs come from the paper or from a study that the user may read, and are split into variance
components. The plan is for the interval and test in `analysis/stats/two_way.py`. An SD based on
three annotators is uncertain, and the plan shows how much.

The SD depends on the mean, because scores near 0 or 1 vary less than those in the middle.
Differences are therefore planned both below and above the cell's mean.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from types import SimpleNamespace
from typing import Any

from analysis.heavy import pd
from analysis.scores.columns import table_columns
from analysis.scores.frames import scored_answers
from analysis.scores.markup import rendered, texts
from analysis.scores.means import matrix_of
from analysis.scores.scores import human_table4
from analysis.scores.test_sets import S1
from analysis.stats import power, significance, two_way, uncertainty
from analysis.stats.distributions import root
from analysis.stats.learning import by_cell
from annotation.models import Kind, Participation, Study
from annotation.models.study import StudyQuerySet
from tasks.cards import load_card
from tasks.columns import Column
from tasks.importing import CARDS

PUBLISHED = "published"
COMPARISONS = (-1, 1)  # a mean below and a mean above the cell's
LIMIT = 0.995  # highest mean to plan for; the lowest is 1 minus it
LEVEL = 0.05
POWER = 0.8


@dataclass(frozen=True)
class Known:
    """What is known about a task at one shot count. Means and SDs are in [0, 1].

    `sd` is the SD of the annotators' means over these examples (ddof 1, or as printed in the
    paper). `parts` are the variance components of a study's answers over annotators and contexts,
    or None if unknown. `contexts_each` is the number of contexts per example (at most 1).
    `is_right_or_wrong` means that each answer scores either 0 or 1.
    """

    task: str
    shots: int
    mean: float
    sd: float
    n: int
    parts: two_way.Components | None
    is_right_or_wrong: bool
    contexts_each: float = 1.0

    def planned(self, examples: int) -> tuple[float, float, int]:
        """Return the SD of means over this many examples, its noise (0: unknown) and contexts."""
        contexts = max(2, round(examples * self.contexts_each))
        if self.parts is None:
            return self.sd, 0.0, contexts
        variance = self.parts.rest / contexts
        sd = math.sqrt(self.parts.annotators + variance)
        return sd, math.sqrt(variance) / sd if sd else 0.0, contexts

    def arms(self, difference: float, examples: int) -> dict[str, Any]:
        """Return arguments of `power.power` for this arm and one whose mean is mean + difference.

        Noise is binomial, so its variance is proportional to mean · (1 - mean). The SD between
        annotators is scaled in the same way, as if they differed equally on the logit scale. If the
        components are unknown, answers are assumed to be right or wrong, and the noise is capped at
        the whole variance.
        """
        sd, share, contexts = self.planned(examples)
        second_mean = min(max(self.mean + difference, 1 - LIMIT), LIMIT)
        binomial = self.mean * (1 - self.mean)
        factor = second_mean * (1 - second_mean) / binomial if binomial > 0 else 1.0
        variance = min(sd**2, (share * sd) ** 2 if self.parts else binomial / examples)
        second = (sd**2 - variance) * factor**2 + variance * factor
        shared = math.sqrt(variance * (1 + factor) / (sd**2 + second)) if self.parts else 0.0
        return {"noise": shared, "contexts": contexts, "ratio": math.sqrt(second) / sd}

    def power(self, difference: float, people: int, examples: int, level: float) -> float:
        sd, _share, _contexts = self.planned(examples)
        return power.power(abs(difference) / sd, people, level, **self.arms(difference, examples))

    def detectable(self, sign: int, people: int, examples: int, level: float) -> float:
        """Return the smallest difference in this direction with power POWER, or infinity."""
        high = LIMIT - self.mean if sign > 0 else self.mean - (1 - LIMIT)
        low = 1e-6
        if people < 2 or high <= low or self.power(sign * high, people, examples, level) < POWER:
            return math.inf
        return root(lambda d: self.power(sign * d, people, examples, level) - POWER, low, high)


def sources(studies: StudyQuerySet) -> list[tuple[str, str]]:
    """Return (value, label) for the paper, and for those studies whose scores are visible."""
    groups = (
        Participation.objects.analysed()
        .filter(study__in=studies)
        .exclude(study__in=Study.objects.covering_test_scores(), kind=Kind.PERSON)
        .order_by("study__name", "kind")
        .values_list("study__name", "study__title", "kind")
        .distinct()
    )
    return [(PUBLISHED, "CLUES, Table 4, as published")] + [
        (f"{kind}:{name}", f"{title}: {Kind(kind).label}" if title else name)
        for name, title, kind in groups
    ]


def cells_of(studies: StudyQuerySet, source: str) -> list[Known]:
    if source == PUBLISHED:
        labelled = {card.name for card in map(load_card, CARDS.glob("*.toml")) if card.labels}
        return [
            Known(task, shots, cell.mean / 100, cell.spread / 100, 3, None, task in labelled)
            for (task, shots), cell in human_table4().items()
        ]
    kind, name = source.split(":", 1)
    study = studies.get(name=name)
    cards = {task.name: task.card for task in study.tasks.all()}
    labelled = {name for name, card in cards.items() if card.kind.is_one_text and card.metric == S1}
    return [
        measured_by(task, shots, part, task in labelled)
        for task, shots, part in by_cell(scored_answers(study, kind))
    ]


def measured_by(task: str, shots: int, part: pd.DataFrame, labelled: bool) -> Known:
    matrix, contexts, _keys = matrix_of(part)
    means = matrix.mean(1)
    return Known(
        task, shots, float(means.mean()), uncertainty.sd(means), len(means),
        two_way.components(matrix, contexts), labelled, len(set(contexts)) / len(contexts),
    )  # fmt: skip


# Numbers of a plan that may be unknown. Pairs are for means below and above the cell's mean.
UNKNOWN = (
    dict.fromkeys(("sd_low", "sd_high", "half_width", "half_width_both"), math.nan)
    | dict.fromkeys(("wilson_low", "wilson_high"), math.nan)
    | dict.fromkeys(("detectable", "power", "power_averaged"), (math.nan, math.nan))
    | {"annotators_needed": None, "group_needed": (None, None)}
)


def plan(cell: Known, inputs: dict[str, Any]) -> SimpleNamespace:
    """Return a cell's plan x 100 for the requested numbers (PlannerForm's cleaned data)."""
    width, examples = inputs["half_width"] / 100, inputs["examples"]
    numbers: dict[str, Any] = {**UNKNOWN}
    if cell.sd > 0:
        # An SD of 0 (from ties, or one annotator) says nothing about how much others would differ.
        numbers |= _detectable(cell, inputs)
    if cell.is_right_or_wrong:
        low, high = uncertainty.wilson(round(cell.mean * examples), examples)
        numbers |= {"wilson_low": 100 * low, "wilson_high": 100 * high}
    return SimpleNamespace(
        task=cell.task, shots=cell.shots, n=cell.n, mean=100 * cell.mean, sd=100 * cell.sd,
        examples_needed=power.examples_needed(width, cell.mean), **numbers,
    )  # fmt: skip


def _detectable(cell: Known, inputs: dict[str, Any]) -> dict[str, Any]:
    """Return the numbers that depend on the SD between annotators: intervals and differences.

    The interval that also covers other examples is never narrower, because it is the wider of two.
    """
    people, examples = inputs["annotators"], inputs["examples"]
    difference = inputs["difference"] / 100
    level = LEVEL / inputs["comparisons"]
    sd, _share, contexts = cell.planned(examples)
    se, apart = sd / math.sqrt(people), difference / sd
    low, high = power.sd_range(100 * cell.sd, cell.n)
    # Plan below and above the cell's mean, but not below 0 or above 1.
    gaps = [sign * difference for sign in COMPARISONS]
    arms = [cell.arms(gap, examples) if 0 <= cell.mean + gap <= 1 else None for gap in gaps]

    def both(number: Callable[..., Any], missing: Any = math.nan) -> tuple[Any, ...]:
        return tuple(number(**arm) if arm else missing for arm in arms)

    numbers: dict[str, Any] = {
        "sd_low": low,
        "sd_high": high,
        "annotators_needed": power.annotators_needed(inputs["half_width"] / 100, sd),
        "half_width": 100 * float(two_way.reach(se, people - 1, se, people - 1)),
        "detectable": tuple(
            100 * cell.detectable(sign, people, examples, level) for sign in COMPARISONS
        ),
        "power": both(partial(power.power, apart, people, level)),
        "power_averaged": both(partial(power.averaged_power, apart, people, cell.n, level)),
        "group_needed": both(partial(power.group_needed, apart, level, POWER), None),
    }
    if cell.parts is not None:
        wider = cell.parts.variances(people, contexts).both()
        numbers["half_width_both"] = 100 * float(two_way.reach(se, people - 1, *wider))
    return numbers


def sentences(inputs: dict[str, Any]) -> list[str]:
    n, r = inputs["annotators"], inputs["anchor_r"]
    level = LEVEL / inputs["comparisons"]
    values = inputs | {
        "floor": significance.smallest_p(n, n), "level": level, "power": POWER,
        "enough": next(k for k in range(2, 100) if significance.smallest_p(k, k) < level),
        "sds": power.detectable(n, level, POWER),
        "of_three": power.sd_range(1, 3), "of_ten": power.sd_range(1, 10),
        "is_published": inputs["source"] == PUBLISHED,
        "kept": 1 - r**2, "error": math.sqrt(1 - r**2), "worth": n / (1 - r**2),
    }  # fmt: skip
    return texts(rendered("planner", values))


KNOWN_COLUMNS = table_columns("known")


def interval_columns(inputs: dict[str, Any]) -> list[Column]:
    words = {
        "width": f"{inputs['half_width']:g}", "examples": f"{inputs['examples']:,}",
        "people": inputs["annotators"],
    }  # fmt: skip
    return [*KNOWN_COLUMNS, *table_columns("planned_intervals", words)]


def difference_columns(inputs: dict[str, Any]) -> list[Column]:
    words = {
        "difference": f"{inputs['difference']:g}", "people": inputs["annotators"],
        "level": f"{LEVEL / inputs['comparisons']:.2g}", "required_power": f"{POWER:.0%}",
    }  # fmt: skip
    sides = {
        f"{name}_{side}": partial(lambda name, index, row: getattr(row, name)[index], name, index)
        for name in ("detectable", "power", "power_averaged", "group_needed")
        for index, side in enumerate(("below", "above"))
    }
    return table_columns("planned_differences", words, **sides)
