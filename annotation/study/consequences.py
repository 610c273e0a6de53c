"""Seats, minutes and cost of a design, shown while it is edited and when the study opens.

A cell's minutes are the time required for its examples (study/minutes.py), not the announced time.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from annotation.models import (
    AccessRule,
    Arm,
    Participation,
    ProlificReward,
    Qualification,
    Study,
)
from annotation.pay import ledger
from annotation.study import design, minutes
from tasks.models import Split, Task

# The end of a warning about leakage, for which documents search the manifest.
ALSO_IN_TEST = "are also test examples, so their correct answers are revealed before the test."

# Fields of the design on which the calculation depends.
NEEDED = (
    "tasks", "shots", "splits", "annotators", "tasks_per_worker", "estimated_minutes",
    "task_minutes",
    "hourly_rate", "currency", "base_reward", "minimum_pay", "max_paid_hours", "budget",
    "attention_checks", "screening_examples", "anchor_examples", "context_free_annotators",
    "upstream_tasks", "upstream_examples", "sham_task", "arms",
)  # fmt: skip

# Prolific's minimum in cents per hour, for each currency in which it pays.
LEAST_HOURLY = {"GBP": 600, "USD": 800}


@dataclass(frozen=True)
class Cell(minutes.Minutes):
    seats: int  # with this many minutes of work


@dataclass(frozen=True)
class Consequences:
    """Seats and cost of a design, in cents (`budget` in units). `cap` is None if unlimited.

    `suggested_hours` is a suggestion for the maximum paid hours if they are missing, or None.
    """

    cells: list[Cell]
    people: int
    currency: str
    is_paid: bool
    expected: int
    cap: int | None
    budget: Decimal | None
    suggested_hours: Decimal | None

    @property
    def seats(self) -> int:
        return sum(cell.seats for cell in self.cells)

    @property
    def hours(self) -> float:
        return sum(cell.seats * cell.expected for cell in self.cells) / 60

    @property
    def longest(self) -> int:
        return max((cell.expected for cell in self.cells), default=0)

    @property
    def promised(self) -> str:
        """Return the minutes that annotators are shown, for example "20 to 60"."""
        return minutes.in_words([cell.announced for cell in self.cells])

    @property
    def largest_cost(self) -> str:
        """Return the cost if every seat earns the cap, or "" if pay is unlimited."""
        return "" if self.cap is None else self._money(self.cap * self.seats)

    @property
    def budget_in_words(self) -> str:
        return "" if self.budget is None else self._money(ledger.cents(self.budget))

    @property
    def at_once_in_words(self) -> str:
        """Explain how the budget limits arrivals, or return "" if it covers all seats."""
        if not self.cap or self.budget is None:
            return ""
        number = ledger.cents(self.budget) // self.cap
        if number >= self.seats:
            return ""
        return (
            f"the budget covers the cap for {number} annotator{'' if number == 1 else 's'} at a"
            " time; others are turned away in the meantime"
        )

    @property
    def sum_in_words(self) -> str:
        seats = f"{self.seats} seat{'' if self.seats == 1 else 's'}"
        announced = f"{self.promised} minutes announced for each"
        if not self.is_paid:
            return f"{seats}, {announced}, no pay"
        limit = "no limit per person"
        if self.cap is not None:
            limit = f"up to {self._money(self.cap)} for each"
        if self.budget is not None:
            limit += f", {self.budget_in_words} in total at most (the budget)"
        if self.at_once_in_words:
            limit += f"; {self.at_once_in_words}"
        return f"{seats}, {announced}, {limit}"

    def _money(self, amount: int) -> str:
        return f"{ledger.in_currency(amount)} {self.currency}"


def for_design(study: Study, tasks: Sequence[Task]) -> Consequences:
    """Return the consequences of a design whose values have passed design.check_design."""
    seats: Counter[tuple[int, bool]] = Counter()
    for shots, _split, arm in design.cells(study):
        seats[shots, arm != Arm.QUESTION] += design.seats_in(study, arm)
    cells = [
        Cell(**vars(cell), seats=seats[cell.load.shots, cell.load.has_contexts])
        for cell in minutes.for_cells(study, tasks)
    ]
    return Consequences(
        cells=cells,
        people=-(-sum(cell.seats for cell in cells) // max(study.tasks_per_worker, 1)),
        currency=study.currency,
        is_paid=study.is_paid,
        expected=sum(cell.seats * ledger.for_completing(study, cell.expected) for cell in cells),
        cap=ledger.cap(study),
        budget=study.budget if study.is_paid else None,
        suggested_hours=design.suggested_hours(study, tasks)
        if study.hourly_rate and study.max_paid_hours is None
        else None,
    )


def for_study(study: Study) -> Consequences:
    return for_design(study, list(study.tasks.order_by("name")))


def restrictions(study: Study) -> list[str]:
    sentences = [str(rule) for rule in study.access_rules.filter(ended_at=None)]
    if not study.open_link_on:
        sentences.append("the open link is off: annotators need a personal link or a platform")
    if study.computer_only:
        sentences.append("computers only, not phones")
    if study.comprehension_questions.strip():
        attempts = study.comprehension_attempts
        sentences.append(f"comprehension questions, at most {attempts} attempts")
    if study.qualification != Qualification.NONE:
        threshold = study.qualification_threshold
        limit = "" if threshold is None else f" ({threshold:g})"
        sentences.append(f"after the training step: {study.get_qualification_display()}{limit}")
    return sentences


def leaks(study: Study, tasks: Sequence[Task]) -> list[str]:
    shots = [number for number in study.shots if number]
    sentences = []
    for task in tasks:
        overlaps = {entry["file"]: entry["ids"] for entry in task.report["overlap_with_test"]}
        if not overlaps:
            continue
        trained = task.splits.filter(
            kind=Split.Kind.TRAIN, shots__in=shots, number__in=study.splits
        )
        names = trained.order_by("shots", "number").values_list("filename", flat=True)
        sentences += [
            f"{task.name}: {len(overlaps[name])} of the training examples of {name} {ALSO_IN_TEST}"
            for name in names
            if name in overlaps
        ]
    return sentences


def ceilings(tasks: Sequence[Task]) -> list[str]:
    """Return warnings about tasks whose gold answers can't be entered, so S1 can't reach 100."""
    return [
        f"{task.name}: the highest S1 that an answer can reach is {task.report['ceiling']:.2f},"
        " because some gold answers cannot be highlighted in the text."
        for task in tasks
        if task.report["ceiling"] < 100
    ]


def design_warnings(study: Study, tasks: Sequence[Task]) -> list[str]:
    return leaks(study, tasks) + ceilings(tasks)


Effect, Criterion = AccessRule.Effect, AccessRule.Criterion


def entry_problem(study: Study, effect: str, criterion: str, value: str) -> str:
    """Return why an entry contradicts another one or excludes everyone, or ""."""
    in_force = list(study.access_rules.filter(ended_at=None, criterion=criterion, value=value))
    if any(rule.effect == effect for rule in in_force):
        return f"The same entry is already in force: {in_force[0]}."
    if in_force:
        return f"This contradicts an entry in force: {in_force[0]}. End that entry first."
    return _excludes_everyone(study, effect, criterion, value)


def list_problem(study: Study, effect: str, keys: list[str]) -> str:
    """Return an error if any of these workers (keyed hashes) is on an opposing list, or ""."""
    opposite = study.access_rules.filter(ended_at=None, criterion=Criterion.PEOPLE)
    for rule in opposite.exclude(effect=effect):
        number = len(set(rule.listed.values_list("key", flat=True)) & set(keys))
        if number:
            return (
                f"{number} of these ids {'is' if number == 1 else 'are'} on a list with the"
                f" opposite effect: {rule}. Omit them, or end that entry first."
            )
    return ""


def study_problems(study: Study) -> list[str]:
    rules = study.access_rules.filter(ended_at=None).exclude(criterion=Criterion.PEOPLE)
    return [
        f"End the access rule “{rule}”: {reason}"
        for rule in rules
        if (reason := _excludes_everyone(study, rule.effect, rule.criterion, rule.value))
    ]


def _excludes_everyone(study: Study, effect: str, criterion: str, value: str) -> str:
    if effect != Effect.ALLOW:
        return ""
    tasks = _tasks(study)
    if criterion == Criterion.TASK:
        met = {value}
        people = f"annotators who have seen {value}"
    else:
        source = Study.objects.filter(name=value).first()
        if source is None:
            return f"the study {value} no longer exists, so no one could take part."
        if source.is_closed and not Participation.objects.qualified_in(value).exists():
            return f"no annotator qualified in {value}, which is closed, so no one could take part."
        met = _tasks(source)
        people = f"annotators who qualified in {value}"
        if len(met) > 1:  # they have seen one of these, but it is unclear which one
            return ""
    if tasks and tasks <= met:
        return (
            f"{people} have already done {', '.join(sorted(tasks))}, and no task can be done twice,"
            " so no one could take part."
        )
    return ""


def _tasks(study: Study) -> set[str]:
    return set(Task.objects.filter(studies=study).values_list("name", flat=True))


# The reward on Prolific and the cost of each option -----------------------------------------------


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
    return max(scenario_reward(study, minutes, choice), ledger.cents(study.base_reward))


def _reward_for(study: Study, minutes: int) -> int:
    return ledger.cents(study.hourly_rate * Decimal(minutes) / 60)


def costs_of_design(study: Study, cells: Sequence[tuple[int, int]]) -> list[dict[str, Any]]:
    """Return the cost of each reward in a single session. `cells` contains (seats, minutes).

    Amounts are in cents, excluding fees: the `reward` of one participant, the `bonuses` and the
    `total`. Returns [] if the choice does not matter, or if Prolific does not pay in the currency.
    """
    estimates = [minutes for _seats, minutes in cells]
    one_each = study.participants_choose_scenario or len(set(estimates)) < 2
    if one_each or not study.hourly_rate or study.currency not in LEAST_HOURLY:
        return []
    costs = []
    for choice in ProlificReward.values:
        reward = reward_of_one(study, estimates, choice)
        bonuses = sum(
            seats * max(ledger.for_completing(study, minutes) - reward, 0)
            for seats, minutes in cells
        )
        total = bonuses + reward * sum(seats for seats, _minutes in cells)
        costs.append({"choice": choice, "reward": reward, "bonuses": bonuses, "total": total})
    return costs


def least_reward(hourly: int, minutes: int) -> int:
    """Return the minimum reward in cents for these minutes at an hourly rate, rounded up."""
    return -(-hourly * minutes // 60)
