"""Notices to researchers about study events, on the page and by email, once per event."""

from django.conf import settings
from django.db import models
from django.db.models import Q

from annotation.models.study import Study
from tasks.models.choices import one_of


class About(models.TextChoices):
    """The events; researchers can switch off each one for a study."""

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
    JOB = "job", "A job that I started is done or has failed"


class MailState(models.TextChoices):
    NONE = "none"
    WAITING = "waiting"
    SENT = "sent"
    FAILED = "failed"


class Notice(models.Model):
    """One event for one researcher; `subject` distinguishes it from others of the same kind.

    Notices without a study tell researchers about import jobs that they started.
    """

    About, MailState = About, MailState

    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="notices"
    )
    study = models.ForeignKey(Study, on_delete=models.CASCADE, null=True, related_name="notices")
    about = models.CharField(max_length=12, choices=About)
    subject = models.CharField(max_length=80)
    what = models.CharField(max_length=200)
    detail = models.CharField(max_length=400, blank=True)
    page = models.CharField(max_length=40)  # URL name, within the study if set
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
            models.UniqueConstraint(
                fields=["user", "study", "about", "subject"],
                name="a_researcher_is_told_an_event_once",
            ),
            models.UniqueConstraint(
                fields=["user", "about", "subject"],
                condition=Q(study=None),
                name="a_researcher_is_told_an_event_of_no_study_once",
            ),
            models.CheckConstraint(
                condition=Q(study__isnull=False) | Q(about="job"),
                name="a_notice_of_no_study_is_about_a_job",
            ),
            models.CheckConstraint(
                condition=~Q(mail="waiting") | Q(next_at__isnull=False),
                name="a_waiting_mail_knows_when_it_is_tried",
            ),
        ]
        indexes = [models.Index(fields=["user", "read_at"], name="unread_notices")]

    def __str__(self) -> str:
        return f"{self.study}: {self.what}" if self.study else self.what


class NoticeSwitch(models.Model):
    """The notices that one researcher switched off for a study; without a row, all are on."""

    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="notice_switches"
    )
    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="notice_switches")
    page_off = models.JSONField(default=list)  # list of About
    mail_off = models.JSONField(default=list)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["user", "study"], name="a_researcher_switches_once_in_a_study"
            )
        ]

    def __str__(self) -> str:
        return f"{self.user}, {self.study}"
