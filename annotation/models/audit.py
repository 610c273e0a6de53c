"""The audit log of actions on pages, with tokens and in commands. Insert-only (guards.py).

Step functions write entries in their own transactions (`AuditEntry.objects.record`). Other actions,
and downloads, are logged along with the response (config/audit.py).
"""

from contextvars import ContextVar
from typing import Any

from django.contrib.auth.models import User
from django.core.serializers.json import DjangoJSONEncoder
from django.db import models
from django.db.models import Q
from django.http import HttpRequest
from django.utils import timezone

from annotation.models.accounts import ApiToken
from annotation.models.study import Study
from tasks.models.choices import check, one_of

# The current request, as set by config/audit.py, or None in commands.
request_now: ContextVar[HttpRequest | None] = ContextVar("request_now", default=None)
LONGEST = 200  # characters per field


class Topic(models.TextChoices):
    # Changes to a running study outside its frozen design, which reports list.
    STUDY = "study", "Changes while it runs"
    DESIGN = "design", "Design"
    TEAM = "team", "Team"
    PEOPLE = "people", "Annotators"
    PAY = "pay", "Pay"
    PLATFORM = "platform", "Platforms and links"
    RESULTS = "results", "Analysis and report"
    TASK = "task", "Tasks"
    MODEL = "model", "Models"
    DOWNLOAD = "download", "Downloads and look-ups"
    ACCOUNT = "account", "Accounts"


class AuditQuerySet(models.QuerySet["AuditEntry"]):
    def record(
        self,
        what: str,
        topic: str = Topic.STUDY,
        *,
        study: Study | None = None,
        about: str = "",
        before: Any = None,
        after: Any = None,
        by: User | None = None,
    ) -> "AuditEntry":
        """Record an action by `by` or, by default, by the researcher who sent the current request.

        Entries must not contain workers' identities, tokens or gold answers.
        """
        user = getattr(request_now.get(), "user", None)
        return self.create(
            study=study,
            topic=topic,
            what=what[:LONGEST],
            about=about[:LONGEST],
            before=before,
            after=after,
            by=by or (user if isinstance(user, User) else None),
        )

    def readable_by(self, rights: frozenset[str]) -> "AuditQuerySet":
        """Return the entries that these rights allow. Those about pay are only for payers."""
        return self if "pay" in rights else self.exclude(topic=Topic.PAY)


class AuditEntry(models.Model):
    """An action by a user, or by the server if `by` is None. Only erasures change it.

    The foreign key to the study is unconstrained, because entries are kept when a draft is deleted.
    Reasons for decisions are stored only in Decision, from which withdrawals remove them.
    """

    study = models.ForeignKey(
        Study, null=True, on_delete=models.DO_NOTHING, db_constraint=False, related_name="events"
    )
    topic = models.CharField(max_length=8, choices=Topic, default=Topic.STUDY)
    what = models.CharField(max_length=LONGEST)
    # What else the action was about: a pseudonym, a task or an account.
    about = models.CharField(max_length=LONGEST, blank=True)
    before = models.JSONField(null=True, encoder=DjangoJSONEncoder)
    after = models.JSONField(null=True, encoder=DjangoJSONEncoder)
    by = models.ForeignKey(User, null=True, on_delete=models.PROTECT, related_name="+")
    # Name of the API token, or "" for actions on pages and in commands.
    token = models.CharField(max_length=60, blank=True)
    # Hash of the holder, URL and hour, for entries recorded at most once an hour.
    once = models.CharField(max_length=64, null=True, unique=True)
    at = models.DateTimeField(default=timezone.now)

    objects = AuditQuerySet.as_manager()

    class Meta:
        ordering = ["at", "pk"]
        verbose_name_plural = "audit entries"
        indexes = [models.Index(fields=["study", "at"], name="audit_of_a_study")]
        constraints = [
            one_of("topic", Topic, "an_entry_has_a_known_topic"),
            check("an_entry_says_what_was_done", ~Q(what="")),
        ]

    def __str__(self) -> str:
        return self.what

    def save(self, *args: Any, **kwargs: Any) -> None:
        """Add the name of the token and mark the request as logged."""
        request = request_now.get()
        if request is not None:
            token = getattr(request, "auth", None)
            if self.by_id is not None and isinstance(token, ApiToken):
                self.token = token.name
            request.has_entry = True  # type: ignore[attr-defined]  # read by config/audit.py
        super().save(*args, **kwargs)
