"""Jobs: work that takes longer than a request (tasks/jobs.py)."""

import uuid
from datetime import timedelta

from django.contrib.auth.models import User
from django.db import models
from django.db.models import Q
from django.db.models.functions import Now

from tasks.models.choices import check, one_of


class JobState(models.TextChoices):
    WAITING = "waiting"
    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"


class Job(models.Model):
    """Work that takes longer than a request (tasks/jobs.py). Equal work has one row, by `key`."""

    State = JobState
    queue_is_away = False  # not stored: the next chunk could not be enqueued

    kind = models.CharField(max_length=40)
    key = models.CharField(max_length=64, unique=True)
    parameters = models.JSONField()
    seed = models.BigIntegerField(default=0)
    owner = models.ForeignKey(User, on_delete=models.SET_NULL, null=True, related_name="+")
    total = models.PositiveIntegerField()
    done = models.PositiveIntegerField(default=0)
    state = models.CharField(max_length=7, choices=State, default=State.WAITING)
    error = models.TextField(blank=True)
    # The results of the chunks, in order.
    result = models.JSONField(default=list)
    # The lease on the next chunk and when it expires, how often the chunk has been started and,
    # with a queue, when it was last enqueued.
    lease = models.CharField(max_length=32, blank=True)
    leased_until = models.DateTimeField(null=True)
    attempts = models.PositiveIntegerField(default=0)
    sent_at = models.DateTimeField(null=True)
    created_at = models.DateTimeField(auto_now_add=True)
    touched_at = models.DateTimeField(auto_now=True)

    class Meta:
        ordering = ["pk"]
        constraints = [
            one_of("state", JobState, "a_job_is_in_a_known_state"),
            check(
                "a_job_has_chunks_and_does_no_more_than_these",
                Q(total__gt=0, done__lte=models.F("total")),
            ),
            check(
                "a_job_is_done_when_all_its_chunks_are",
                Q(state="done", done=models.F("total"))
                | ~Q(state="done") & Q(done__lt=models.F("total")),
            ),
            check(
                "a_lease_has_an_end_and_only_a_running_job_has_one",
                Q(lease="", leased_until__isnull=True)
                | Q(state="running", leased_until__isnull=False) & ~Q(lease=""),
            ),
            check(
                "a_failed_job_says_why",
                Q(state="failed") & ~Q(error="") | ~Q(state="failed") & Q(error=""),
            ),
        ]

    def __str__(self) -> str:
        return f"{self.kind} {self.pk}: {self.done} of {self.total}"

    @property
    def is_at_work(self) -> bool:
        return Job.objects.filter(pk=self.pk, leased_until__gte=Now()).exists()

    @property
    def time_left(self) -> timedelta | None:
        """Return the estimated time remaining, or None before the first chunk is done."""
        missing = self.total - self.done
        return (self.touched_at - self.created_at) / self.done * missing if self.done else None

    @property
    def is_done(self) -> bool:
        return self.state == self.State.DONE

    @property
    def has_failed(self) -> bool:
        return self.state == self.State.FAILED


class PeriodicPart(models.Model):
    """A part of `manage.py tick`. Its row serves as the lock for running it."""

    name = models.CharField(max_length=30, unique=True)
    busy_until = models.DateTimeField(null=True)  # when the lock of a killed run expires
    started_at = models.DateTimeField(null=True)
    ended_at = models.DateTimeField(null=True)
    succeeded_at = models.DateTimeField(null=True)
    message = models.CharField(max_length=300, blank=True)
    error = models.CharField(max_length=300, blank=True)

    class Meta:
        ordering = ["pk"]
        constraints = [
            check(
                "a_part_that_is_busy_has_begun",
                Q(busy_until__isnull=True) | Q(started_at__isnull=False),
            )
        ]


class Installation(models.Model):
    """This database, as a single row. Its var/ folder contains the same id."""

    # Always true and unique, which ensures that there is only one row.
    only = models.BooleanField(default=True, unique=True, editable=False)
    folder_id = models.UUIDField(default=uuid.uuid4, editable=False)
    # When the first account was created, on the first visit. This happens only once.
    owned_since = models.DateTimeField(null=True, editable=False)

    class Meta:
        constraints = [check("there_is_one_installation", Q(only=True))]
