"""A study's webhooks and their deliveries, which are stored before and after they arrive."""

import uuid

from django.conf import settings
from django.contrib.auth.models import User
from django.db import models, transaction
from django.db.models import Q

from annotation.models.audit import AuditEntry, Topic
from annotation.models.study import Study, made_by_an_owner
from tasks.models.choices import one_of

ENDED = "webhook ended: "  # start of its audit entry
WITH_MAKER = " because its creator is no longer an owner of the study"


class Event(models.TextChoices):
    PARTICIPATION_FINISHED = "participation.finished"
    SCENARIO_FILLED = "scenario.filled"
    STUDY_PAUSED = "study.paused"
    STUDY_CLOSED = "study.closed"
    JOB_DONE = "job.done"


class WebhookQuerySet(models.QuerySet["Webhook"]):
    def of_owners(self) -> "WebhookQuerySet":
        """Return webhooks whose creator has an active account and still owns the study."""
        return self.filter(made_by_an_owner())


class Webhook(models.Model):
    """A URL that receives a study's events (annotation/notices).

    It ends when its creator no longer owns the study or has a closed account.
    """

    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="webhooks")
    url = models.CharField(max_length=500)
    events = models.JSONField()  # list of Event
    # Signs deliveries; encrypted, since it allows signing in our name.
    secret = models.TextField()
    made_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+"
    )
    # Earlier events are not sent; set by the database's clock.
    created_at = models.DateTimeField()

    objects = WebhookQuerySet.as_manager()

    class Meta:
        ordering = ["pk"]
        constraints = [
            models.CheckConstraint(
                condition=~Q(url="") & ~Q(secret=""), name="a_webhook_has_an_address_and_a_secret"
            )
        ]

    def __str__(self) -> str:
        return f"webhook {self.pk} of {self.study}"

    def end(self, by: User | None = None, why: str = "") -> None:
        """Delete it with its deliveries, and record that in the audit log."""
        with transaction.atomic():
            what = f"{ENDED}{self.pk}{why}"
            AuditEntry.objects.record(what, Topic.PLATFORM, study=self.study, by=by)
            self.delete()


class DeliveryState(models.TextChoices):
    WAITING = "waiting"
    DELIVERED = "delivered"
    FAILED = "failed"


class Delivery(models.Model):
    """One event for one webhook, with one delivery ID however often it is sent."""

    State = DeliveryState

    # The delivery's ID for the receiver.
    key = models.UUIDField(unique=True, default=uuid.uuid4, editable=False)
    webhook = models.ForeignKey(Webhook, on_delete=models.CASCADE, related_name="deliveries")
    event = models.CharField(max_length=30, choices=Event)
    subject = models.CharField(max_length=80)  # the event's subject, unique for each event
    body = models.JSONField()
    state = models.CharField(max_length=9, choices=DeliveryState, default=DeliveryState.WAITING)
    attempts = models.PositiveIntegerField(default=0)
    next_at = models.DateTimeField()
    last_status = models.PositiveIntegerField(null=True)
    last_error = models.CharField(max_length=200, blank=True)
    created_at = models.DateTimeField()
    delivered_at = models.DateTimeField(null=True)

    class Meta:
        ordering = ["pk"]
        verbose_name_plural = "deliveries"
        constraints = [
            one_of("state", DeliveryState, "a_delivery_is_in_a_known_state"),
            one_of("event", Event, "a_delivery_is_of_a_known_event"),
            models.UniqueConstraint(
                fields=["webhook", "event", "subject"], name="a_webhook_is_told_an_event_once"
            ),
            models.CheckConstraint(
                condition=Q(state="delivered", delivered_at__isnull=False)
                | ~Q(state="delivered") & Q(delivered_at__isnull=True),
                name="a_delivery_says_when_it_arrived",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.event} {self.subject}: {self.state}"
