"""Scenarios: the cells of a study, each with seats of its own."""

from datetime import timedelta
from decimal import Decimal
from functools import cached_property

from django.db import models
from django.db.models import Q

from annotation.models.study import Study
from tasks.models import Task


class Scenario(models.Model):
    """One cell of a study: a task, shots, and the number of the training split."""

    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="scenarios")
    task = models.ForeignKey(Task, on_delete=models.PROTECT, related_name="scenarios")
    shots = models.PositiveIntegerField()
    split_number = models.PositiveIntegerField(null=True)
    seats = models.PositiveIntegerField()
    # Of people who do not consent only this count is stored.
    declined = models.PositiveIntegerField(default=0)

    class Meta:
        ordering = ["study", "task__name", "shots"]
        constraints = [
            models.UniqueConstraint(
                fields=["study", "task", "shots"], name="one_scenario_per_study_task_and_shots"
            ),
            models.CheckConstraint(
                condition=Q(shots=0, split_number__isnull=True)
                | Q(shots__gt=0, split_number__isnull=False, split_number__gt=0),
                name="zero_shots_means_no_training_split",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.task.name}, {self.shots} shots"

    @cached_property
    def shows_help_examples(self) -> bool:
        return self.shots > 0 or self.study.help_examples_at_zero_shots

    @cached_property
    def auto_advance(self) -> bool:
        """Is a label of the annotation step submitted as soon as it is chosen?"""
        return self.study.auto_advance

    @cached_property
    def promise(self) -> tuple[Decimal, str, Decimal | None]:
        """The hourly rate, its currency, and how many hours are paid at most, if that is said."""
        return self.study.hourly_rate, self.study.currency, self.study.max_paid_hours

    @cached_property
    def estimated_minutes(self) -> int:
        """How long one task of the study takes, as it says itself."""
        return self.study.estimated_minutes

    @cached_property
    def idle_cutoff(self) -> timedelta:
        """A gap between two signs of work counts at most so long."""
        return timedelta(seconds=self.study.idle_cutoff_seconds)
