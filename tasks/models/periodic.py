"""Periodic work: which part of it runs now, and what its last run said (tasks/periodic.py)."""

from django.db import models
from django.db.models import Q


class PeriodicPart(models.Model):
    """One part of `manage.py tick`; its row is taken by whoever runs it."""

    name = models.CharField(max_length=30, unique=True)
    busy_until = models.DateTimeField(null=True)  # then a run that was killed is not waited for
    started_at = models.DateTimeField(null=True)
    ended_at = models.DateTimeField(null=True)
    succeeded_at = models.DateTimeField(null=True)
    said = models.CharField(max_length=300, blank=True)
    error = models.CharField(max_length=300, blank=True)

    class Meta:
        ordering = ["pk"]
        constraints = [
            models.CheckConstraint(
                condition=Q(busy_until__isnull=True) | Q(started_at__isnull=False),
                name="a_part_that_is_busy_has_begun",
            )
        ]

    def __str__(self) -> str:
        return self.name
