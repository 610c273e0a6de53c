"""Which scenario was offered to an arrival, and why; and who declined it."""

from datetime import datetime, timedelta

from django.db import models
from django.utils import timezone

from annotation.models.scenario import Scenario
from annotation.models.study import Kind, Study
from tasks.models.choices import one_of

# A declined scenario is the only one that its worker is offered for so long.
OFFERED_AGAIN_FOR = timedelta(days=1)


class Allocation(models.Model):
    """Why a scenario was chosen for an arrival: which could be joined, and how full they were.

    `arrival` counts the choices made in the study, for all kinds. With the study's seed it decides
    ties, so that every choice can be made again from this row.
    """

    study = models.ForeignKey(Study, on_delete=models.PROTECT, related_name="allocations")
    arrival = models.PositiveIntegerField()
    kind = models.CharField(max_length=10, choices=Kind)
    # [[key of the scenario, seats taken, seats], ...] of those that could be joined.
    candidates = models.JSONField()
    scenario = models.ForeignKey(Scenario, on_delete=models.PROTECT, related_name="allocations")
    at = models.DateTimeField(default=timezone.now)

    class Meta:
        ordering = ["study", "arrival"]
        constraints = [
            one_of("kind", Kind, "an_allocation_is_of_a_known_kind"),
            models.UniqueConstraint(
                fields=["study", "arrival"], name="each_arrival_is_allocated_once"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.study} arrival {self.arrival}"


class DeclinedOfferQuerySet(models.QuerySet["DeclinedOffer"]):
    def fresh(self, now: datetime) -> "DeclinedOfferQuerySet":
        """Those that are younger than a day: older ones count no more, and are swept."""
        return self.filter(declined_at__gt=now - OFFERED_AGAIN_FOR)


class DeclinedOffer(models.Model):
    """The scenario that somebody declined to take part in: for a day they are offered no other.

    All that is kept of them is the keyed hash, and the count in the scenario.
    """

    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="+")
    scenario = models.ForeignKey(Scenario, on_delete=models.CASCADE, related_name="+")
    worker_key = models.CharField(max_length=64)
    declined_at = models.DateTimeField()

    objects = DeclinedOfferQuerySet.as_manager()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["study", "worker_key"], name="a_worker_has_one_declined_offer_in_a_study"
            )
        ]

    def __str__(self) -> str:
        return f"{self.worker_key[:8]} declined {self.scenario}"
