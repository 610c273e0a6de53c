"""How many were refused at the door of a study, by reason; nothing is stored of who."""

from django.db import models

from annotation.models.study import Study
from tasks.models.choices import one_of


class Reason(models.TextChoices):
    """Why a person got no seat: the codes of recruitment/refusals.py, and MET."""

    MET = "met", "had done these tasks already, in another study"
    DONE = "done", "had taken part in this study already"
    BROWSER = "browser", "somebody had taken part from this browser"
    NOT_ELIGIBLE = "not_eligible", "not eligible"
    REJECTED = "rejected", "rejected on the platform"
    NOT_INVITED = "not_invited", "a later part of a study that they had not started"
    DEVICE = "device", "no desktop or laptop computer"
    FULL = "full", "no free seat"
    BUDGET = "budget", "no budget left"
    PAUSED = "paused", "the study was paused"
    CLOSED = "closed", "the study was closed"
    LINK_OFF = "link_off", "the link was switched off"


class RefusedArrival(models.Model):
    """How often people were refused for one reason; once for each browser."""

    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="refused_arrivals")
    reason = models.CharField(max_length=12, choices=Reason)
    number = models.PositiveIntegerField(default=0)

    class Meta:
        ordering = ["study", "reason"]
        constraints = [
            one_of("reason", Reason, "an_arrival_is_refused_for_a_known_reason"),
            models.UniqueConstraint(
                fields=["study", "reason"], name="a_study_counts_each_reason_to_refuse_once"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.number} x {self.reason} in {self.study}"
