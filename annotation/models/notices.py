"""Notices to researchers about events in their studies; webhooks and their deliveries."""

import uuid

from django.contrib.auth.models import User
from django.db import models, transaction
from django.db.models import Q

from annotation.models.accounts import AuditEntry, Topic, made_by_an_owner
from annotation.models.study import Study
from tasks.models.choices import check, one_of, unique


class About(models.TextChoices):
    """Kinds of notices, each of which researchers can switch off per study."""

    FIRST = "first", "The first annotator has started"
    CELL = "cell", "All seats of a scenario are taken"
    FULL = "full", "All seats of the study are taken"
    PAUSED = "paused", "The study paused automatically"
    WAITING = "waiting", "An annotator is waiting for a decision"
    SCREENED_OUT = "screened-out", "Most annotators are screened out"
    QUIET = "quiet", "No new annotators for hours"
    WAGE = "wage", "Annotators earn less than the hourly rate"
    PLATFORM = "platform", "A platform has paused a study, or cannot be reached"
    RETENTION = "retention", "Identities or a study will be deleted within a week"
    WEBHOOK = "webhook", "A webhook has ended because its creator is no longer an owner"
    JOB = "job", "A job that you started is done or has failed"


class MailState(models.TextChoices):
    NONE = "none"
    WAITING = "waiting"
    SENT = "sent"
    FAILED = "failed"


class Notice(models.Model):
    """A notice to one researcher about an event, which is identified by `subject`.

    Notices without a study are about jobs that the researcher started.
    """

    About, MailState = About, MailState

    user = models.ForeignKey(User, on_delete=models.CASCADE, related_name="notices")
    study = models.ForeignKey(Study, on_delete=models.CASCADE, null=True, related_name="notices")
    about = models.CharField(max_length=12, choices=About)
    subject = models.CharField(max_length=80)
    what = models.CharField(max_length=200)
    detail = models.CharField(max_length=400, blank=True)
    page = models.CharField(max_length=40)  # URL name, within the study if one is set
    created_at = models.DateTimeField()
    read_at = models.DateTimeField(null=True)
    mail = models.CharField(max_length=7, choices=MailState, default=MailState.NONE)
    attempts = models.PositiveIntegerField(default=0)
    next_at = models.DateTimeField(null=True)

    class Meta:
        ordering = ["-created_at", "-pk"]
        constraints = [
            one_of("about", About, "a_notice_is_about_a_known_event"),
            one_of("mail", MailState, "the_mail_of_a_notice_is_in_a_known_state"),
            unique("a_researcher_is_told_an_event_once", ["user", "study", "about", "subject"]),
            unique(
                "a_researcher_is_told_an_event_of_no_study_once",
                ["user", "about", "subject"],
                condition=Q(study=None),
            ),
            check("a_notice_of_no_study_is_about_a_job", Q(study__isnull=False) | Q(about="job")),
            check(
                "a_waiting_mail_knows_when_it_is_tried",
                ~Q(mail="waiting") | Q(next_at__isnull=False),
            ),
        ]
        indexes = [models.Index(fields=["user", "read_at"], name="unread_notices")]


class NoticeSwitch(models.Model):
    """The kinds of notices a researcher has switched off for a study. All are on by default."""

    user = models.ForeignKey(User, on_delete=models.CASCADE, related_name="notice_switches")
    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="notice_switches")
    page_off = models.JSONField(default=list)  # list of About values
    mail_off = models.JSONField(default=list)

    class Meta:
        constraints = [unique("a_researcher_switches_once_in_a_study", ["user", "study"])]


ENDED = "webhook ended: "  # prefix of entries in the audit log
WITH_MAKER = " because its creator is no longer an owner of the study"


class Event(models.TextChoices):
    PARTICIPATION_FINISHED = "participation.finished"
    SCENARIO_FILLED = "scenario.filled"
    STUDY_PAUSED = "study.paused"
    STUDY_CLOSED = "study.closed"
    JOB_DONE = "job.done"


class WebhookQuerySet(models.QuerySet["Webhook"]):
    def of_owners(self) -> "WebhookQuerySet":
        """Return webhooks whose creator still owns the study and has an active account."""
        return self.filter(made_by_an_owner())


class Webhook(models.Model):
    """A URL that receives a study's events for as long as its creator is an active owner."""

    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="webhooks")
    url = models.CharField(max_length=500)
    events = models.JSONField()  # list of Event values
    # The key for signing deliveries. Encrypted, because it would let others sign in our name.
    secret = models.TextField()
    made_by = models.ForeignKey(User, on_delete=models.CASCADE, related_name="+")
    # In database time. Earlier events are not sent.
    created_at = models.DateTimeField()

    objects = WebhookQuerySet.as_manager()

    class Meta:
        ordering = ["pk"]
        constraints = [check("a_webhook_has_an_address_and_a_secret", ~Q(url="") & ~Q(secret=""))]

    def end(self, by: User | None = None, reason: str = "") -> None:
        with transaction.atomic():
            action = f"{ENDED}{self.pk}{reason}"
            AuditEntry.objects.record(action, Topic.PLATFORM, study=self.study, by=by)
            self.delete()


class DeliveryState(models.TextChoices):
    WAITING = "waiting"
    DELIVERED = "delivered"
    FAILED = "failed"


class Delivery(models.Model):
    """An event to deliver to a webhook. Retries use the same delivery ID."""

    State = DeliveryState

    # Delivery ID, as seen by the receiver.
    key = models.UUIDField(unique=True, default=uuid.uuid4, editable=False)
    webhook = models.ForeignKey(Webhook, on_delete=models.CASCADE, related_name="deliveries")
    event = models.CharField(max_length=30, choices=Event)
    subject = models.CharField(max_length=80)  # unique per event
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
            unique("a_webhook_is_told_an_event_once", ["webhook", "event", "subject"]),
            check(
                "a_delivery_says_when_it_arrived",
                Q(state="delivered", delivered_at__isnull=False)
                | ~Q(state="delivered") & Q(delivered_at__isnull=True),
            ),
        ]
