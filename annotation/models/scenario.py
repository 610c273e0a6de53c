"""Scenarios: the cells of a study, each of which has seats."""

import copy
from dataclasses import replace
from datetime import timedelta
from functools import cached_property, lru_cache
from typing import Any

from django.contrib.auth.models import User
from django.db import models
from django.db.models import Q
from django.utils import timezone
from django.utils.translation import gettext

from annotation.models.study import Study
from tasks.cards import Card
from tasks.columns import shots_text
from tasks.models import Example, Task
from tasks.models.choices import ARM_NAME, CELL_ARMS, Arm, check, unique

# Models are not paid and do not take seats from humans, so this limit can be generous.
MODEL_SEATS = 100


class Kind(models.TextChoices):
    """Kinds of annotators. Different kinds never share a seat or a cell of a table."""

    PERSON = "person", "people"
    SIMULATED = "simulated", "simulated annotators"
    MODEL = "model", "models"


class Step(models.TextChoices):
    ANCHOR = "anchor", "anchor step"
    UPSTREAM = "upstream", "upstream step"
    TRAINING = "training", "training step"
    SCREENING = "screening", "screening step"
    ANNOTATION = "annotation", "annotation step"
    CHECK = "check", "attention check"


# Steps that the screening rule can judge. A participation has no more than one of them.
JUDGED_STEPS = (Step.TRAINING, Step.SCREENING)
# Steps that reveal the gold answer after each answer.
REVEALED = (Step.UPSTREAM, Step.TRAINING)
# Steps in which the design can ask for confidence. Checks must look just like examples.
RATED = (Step.TRAINING, Step.ANNOTATION, Step.CHECK)


class ScenarioQuerySet(models.QuerySet["Scenario"]):
    def in_cells(self) -> "ScenarioQuerySet":
        """Return scenarios with contexts and without an upstream step (of the arms: direct)."""
        return self.filter(arm__in=CELL_ARMS)


class Scenario(models.Model):
    """A cell of a study: task, shots, training split and, in cross-task studies, arm."""

    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="scenarios")
    task = models.ForeignKey(Task, on_delete=models.PROTECT, related_name="scenarios")
    shots = models.PositiveIntegerField()
    split_number = models.PositiveIntegerField(null=True)
    # Whether the study has the same scenario on other splits, in which case the name includes it.
    is_one_of_splits = models.BooleanField(default=False)
    arm = models.CharField(max_length=20, default=Arm.NONE, blank=True)
    seats = models.PositiveIntegerField()
    # The estimate shown to annotators, which is fixed when the study opens.
    minutes = models.PositiveIntegerField(null=True)
    # How many visitors declined. DeclinedOffer stores their hashes for a day.
    declined = models.PositiveIntegerField(default=0)

    objects = ScenarioQuerySet.as_manager()

    class Meta:
        ordering = ["study", "task__name", "shots", "split_number", "arm"]
        constraints = [
            check("a_scenario_has_a_named_arm_or_none", Q(arm=Arm.NONE) | Q(arm__regex=ARM_NAME)),
            unique(
                "one_scenario_per_study_task_shots_split_and_arm",
                ["study", "task", "shots", "split_number", "arm"],
            ),
            unique(
                "one_scenario_per_study_task_and_arm_at_zero_shots",
                ["study", "task", "arm"],
                condition=Q(split_number__isnull=True),
            ),
            check(
                "zero_shots_means_no_training_split",
                Q(shots=0, split_number__isnull=True)
                | Q(shots__gt=0, split_number__isnull=False, split_number__gt=0),
            ),
        ]

    def __str__(self) -> str:
        split = f", split {self.split_number}" if self.is_one_of_splits else ""
        arm = f", {self.arm}" if self.arm else ""
        return f"{self.task.name}, {shots_text(self.shots)}{split}{arm}"

    def seats_for(self, kind: str) -> int:
        return max(self.seats, MODEL_SEATS) if kind == Kind.MODEL else self.seats

    @cached_property
    def training_examples(self) -> int:
        """Return the number of training examples. k shots may mean k examples of each label."""
        if not self.shots:
            return 0
        return self.task.train_split(self.shots, self.split_number).examples.count()

    @cached_property
    def design(self) -> Study:
        """Return the study. A frozen scenario may only use fields frozen by the design."""
        return self.study

    @cached_property
    def shows_help_examples(self) -> bool:
        # Anchors are answered under the same conditions in all arms.
        is_same = self.design.anchor_examples and 0 in self.design.shots
        return (self.shots > 0 and not is_same) or self.design.help_examples_at_zero_shots

    @cached_property
    def screening_examples(self) -> int:
        return 0 if self.shots else self.design.screening_examples

    @property
    def hides_context(self) -> bool:
        return self.arm == Arm.QUESTION

    @cached_property
    def is_plain(self) -> bool:
        """Return whether all annotators see cards and examples exactly as stored."""
        return not self.hides_context and not self.design.shuffles_options

    def shown_card(self, card: Card) -> Card:
        if not self.hides_context:
            return card
        notice = gettext(
            "We leave out the text on purpose. Answer from the question alone, as well as you can."
        )
        return replace(card, submit_hint=notice, instructions=f"{notice}\n\n{card.instructions}")

    def shown_example(self, example: Example) -> Example:
        if not self.hides_context:
            return example
        copied = copy.copy(example)
        copied.context = []
        return copied

    @cached_property
    def promise(self) -> dict[str, Any]:
        """Return the hourly rate, its currency, and the maximum number of paid seconds, if any."""
        rate, hours = self.design.hourly_rate, self.design.max_paid_hours
        cap = None if hours is None else int(hours * 3600)
        return {"hourly_rate": rate, "currency": self.design.currency, "max_paid_seconds": cap}

    @cached_property
    def estimated_minutes(self) -> int:
        return self.minutes or self.design.estimated_minutes or 0

    @cached_property
    def idle_cutoff(self) -> timedelta:
        """Return the longest gap between activity signals that is counted in full."""
        return timedelta(seconds=self.design.idle_cutoff_seconds)


@lru_cache(maxsize=1024)
def frozen_scenario(pk: int) -> Scenario:
    """Return a scenario with its task and design, cached in this process. It must have a seat.

    The scenario, its task and its design are frozen (docs/protocol.md#invariants), but the other
    fields of the study can change, so they are reloaded. Copy the scenario before changing it.
    """
    scenario = Scenario.objects.select_related("task", "study").get(pk=pk)
    scenario.design = scenario._state.fields_cache.pop("study")
    # Each step uses a copy, which inherits these values.
    for name in ("estimated_minutes", "idle_cutoff", "is_plain", "promise", "shows_help_examples"):
        getattr(scenario, name)
    return scenario


class UpstreamExample(models.Model):
    """An example for the sham arm or for all upstream arms, frozen when the study opens.

    Its text does not occur in the study's unseen tasks or in the examples of any other upstream
    task (study/cross_task.py), so a worker never sees the same text twice.
    """

    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="upstream_pool")
    arm = models.CharField(max_length=8, choices=[(Arm.UPSTREAM, ""), (Arm.SHAM, "")])
    task = models.ForeignKey(Task, on_delete=models.PROTECT, related_name="+")
    example = models.ForeignKey(Example, on_delete=models.PROTECT, related_name="+")
    position = models.PositiveIntegerField()

    class Meta:
        ordering = ["study", "arm", "task__name", "position"]
        constraints = [
            check(
                "an_upstream_example_is_of_an_arm_that_trains_first",
                Q(arm__in=[Arm.UPSTREAM, Arm.SHAM]),
            ),
            unique("an_upstream_example_is_in_one_arm_of_a_study", ["study", "example"]),
            unique("upstream_examples_of_a_task_in_order", ["study", "task", "position"]),
        ]


class ArmTaken(models.Model):
    """The arm to which a worker is bound in a study. It is kept when the worker is deleted."""

    study = models.ForeignKey(Study, on_delete=models.PROTECT, related_name="+")
    worker_key = models.CharField(max_length=64)
    arm = models.CharField(max_length=20)

    class Meta:
        constraints = [
            unique("a_worker_meets_one_arm_of_a_study", ["study", "worker_key"]),
            check("an_arm_taken_is_an_arm", Q(arm__regex=ARM_NAME)),
        ]


class AddedSeats(models.Model):
    """Seats added after the study opened. `results_seen`: human results were visible."""

    scenario = models.ForeignKey(Scenario, on_delete=models.CASCADE, related_name="added_seats")
    number = models.PositiveIntegerField()
    results_seen = models.BooleanField()
    by = models.ForeignKey(User, null=True, on_delete=models.PROTECT, related_name="+")
    at = models.DateTimeField(default=timezone.now)

    class Meta:
        ordering = ["at", "pk"]
        constraints = [check("added_seats_are_some", Q(number__gt=0))]
