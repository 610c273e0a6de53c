"""Users' API tokens (docs/researchers/api.md), invitations and preferences, and the audit log.

Step functions write entries of the log in their own transactions (`AuditEntry.objects.record`).
Other actions, and downloads, are logged along with the response (config/audit.py).
"""

import hashlib
import secrets
import zoneinfo
from contextvars import ContextVar
from datetime import datetime, timedelta
from functools import cache
from typing import Any

from django.contrib.auth.models import User
from django.core.exceptions import ValidationError
from django.core.serializers.json import DjangoJSONEncoder
from django.db import models
from django.db.models import Exists, F, OuterRef, Q
from django.http import HttpRequest
from django.utils import timezone

from annotation.models.study import Member, Role, Study
from tasks.clock import database_now
from tasks.models.choices import check, one_of

PREFIX = "handful_"  # allows secret scanners to recognise tokens
NOTED_AT_MOST_EVERY = timedelta(hours=1)

# Maps rights (study.RIGHTS) to the token scope they require. "see" is covered by any scope.
SCOPE_OF_RIGHT = {"read": "read", "own": "run", "pay": "pay"}


def digest(token: str) -> str:
    """Return the SHA-256 of a token. Tokens have 256 random bits, so no slower hash is needed."""
    return hashlib.sha256(token.encode()).hexdigest()


class ApiTokenQuerySet(models.QuerySet["ApiToken"]):
    def valid(self) -> "ApiTokenQuerySet":
        """Return tokens that aren't revoked or expired and whose owner's account is active."""
        return self.filter(
            revoked_at=None, expires_at__gt=database_now(), owner__is_active=True
        ).select_related("owner")

    def of(self, token: str) -> "ApiToken":
        """Return the row of a valid token, or raise ApiToken.DoesNotExist."""
        return self.valid().get(digest=digest(token))


class ApiToken(models.Model):
    """A researcher's API token, with scopes, an expiry time and, optionally, a single study.

    A token never grants more than its owner's role does, because its requests go through the same
    access checks as pages (annotation/web/access.py).
    """

    owner = models.ForeignKey(User, on_delete=models.CASCADE, related_name="api_tokens")
    name = models.CharField(max_length=60)
    study = models.ForeignKey(
        Study, null=True, blank=True, on_delete=models.CASCADE, related_name="api_tokens"
    )
    may_read = models.BooleanField(default=True)
    may_run = models.BooleanField(default=False)
    may_pay = models.BooleanField(default=False)
    digest = models.CharField(max_length=64, unique=True)
    last_characters = models.CharField(max_length=4)  # shown on the page to identify the token
    created_at = models.DateTimeField(auto_now_add=True)
    expires_at = models.DateTimeField()
    revoked_at = models.DateTimeField(null=True)
    last_used_at = models.DateTimeField(null=True)

    objects = ApiTokenQuerySet.as_manager()

    class Meta:
        ordering = ["-created_at", "-pk"]
        constraints = [
            check("a_token_has_a_scope", Q(may_read=True) | Q(may_run=True) | Q(may_pay=True)),
            check("a_token_expires_after_it_was_made", Q(expires_at__gt=models.F("created_at"))),
        ]

    def __str__(self) -> str:
        return f"{self.name} (…{self.last_characters})"

    @classmethod
    def draw(cls) -> tuple[str, "ApiToken"]:
        """Return a new token, and an unsaved row with its hash. The token itself is not stored."""
        token = PREFIX + secrets.token_urlsafe(32)
        return token, cls(digest=digest(token), last_characters=token[-4:])

    @property
    def scopes(self) -> list[str]:
        return [scope for scope in ("read", "run", "pay") if getattr(self, f"may_{scope}")]

    def allows(self, right: str) -> bool:
        """Return whether any of the token's scopes covers this right (study.RIGHTS)."""
        return right not in SCOPE_OF_RIGHT or SCOPE_OF_RIGHT[right] in self.scopes

    def is_over(self, now: datetime) -> bool:
        return self.revoked_at is not None or self.expires_at <= now

    def note_use(self) -> None:
        """Record the time of use, at most once an hour."""
        now = database_now()
        if self.last_used_at is None or now - self.last_used_at >= NOTED_AT_MOST_EVERY:
            ApiToken.objects.filter(pk=self.pk).update(last_used_at=now)

    def revoke(self) -> None:
        """Revoke the token, keeping its row as a record."""
        ApiToken.objects.filter(pk=self.pk, revoked_at=None).update(revoked_at=database_now())


LASTS = timedelta(days=7)


def made_by_an_owner() -> Q:
    """Return a filter for rows whose `made_by` is an active owner of the study."""
    owners = Member.objects.filter(user=OuterRef("made_by"), role=Role.OWNER).order_by()
    owners = owners.filter(study=OuterRef("study"))
    return Q(made_by__is_active=True) & (Q(study__owner=F("made_by")) | Q(Exists(owners)))


class InvitationQuerySet(models.QuerySet["Invitation"]):
    def unused(self) -> "InvitationQuerySet":
        """Return unaccepted, unrevoked invitations, without joins, which updates don't recheck."""
        return self.filter(accepted_at=None, revoked_at=None)

    def open(self) -> "InvitationQuerySet":
        """Return unused, unexpired invitations whose inviter is an active owner or superuser."""
        administrator = Q(study=None, made_by__is_active=True, made_by__is_superuser=True)
        still_open = self.unused().filter(expires_at__gt=database_now())
        return still_open.filter(administrator | made_by_an_owner())

    def of(self, token: str) -> "Invitation | None":
        return self.open().select_related("study", "made_by").filter(digest=digest(token)).first()


class Invitation(models.Model):
    """A single-use invitation link. Its secret is shown only once and is not stored."""

    # None if an administrator invites someone to this server.
    study = models.ForeignKey(
        Study, null=True, on_delete=models.CASCADE, related_name="invitations"
    )
    role = models.CharField(max_length=7, choices=Role, null=True)
    email = models.EmailField(blank=True)
    digest = models.CharField(max_length=64, unique=True)
    made_by = models.ForeignKey(User, on_delete=models.CASCADE, related_name="+")
    created_at = models.DateTimeField()
    expires_at = models.DateTimeField()
    revoked_at = models.DateTimeField(null=True)
    accepted_at = models.DateTimeField(null=True)
    accepted_by = models.ForeignKey(User, null=True, on_delete=models.SET_NULL, related_name="+")

    objects = InvitationQuerySet.as_manager()

    class Meta:
        ordering = ["pk"]
        constraints = [
            one_of("role", Role, "an_invitation_has_a_known_role"),
            check(
                "an_invitation_to_a_study_has_a_role",
                Q(study=None, role=None) | Q(study__isnull=False, role__isnull=False),
            ),
            check("an_invitation_is_accepted_or_revoked", Q(accepted_at=None) | Q(revoked_at=None)),
        ]


UTC = "UTC"


@cache
def time_zones() -> tuple[str, ...]:
    """Return the names of time zones, such as "Europe/Berlin", with UTC first."""
    places = (name for name in zoneinfo.available_timezones() if "/" in name)
    left_out = ("Etc/", "SystemV/", "US/", "posix/", "right/")
    return (UTC, *sorted(name for name in places if not name.startswith(left_out)))


def check_time_zone(name: str) -> None:
    if name not in time_zones():
        raise ValidationError("This is not a time zone. Choose one from the list.")


class Preferences(models.Model):
    """A user's preferences. Users without a row get the defaults."""

    user = models.OneToOneField(
        User, primary_key=True, on_delete=models.CASCADE, related_name="preferences"
    )
    skips_first_study = models.BooleanField(default=False)  # hides the guide on the Studies page
    time_zone = models.CharField(max_length=64, default=UTC, validators=[check_time_zone])


# The audit log ----------------------------------------------------------------------------------

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
