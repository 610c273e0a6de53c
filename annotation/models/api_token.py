"""Tokens with which programs act for a researcher (docs/researchers/api.md)."""

import hashlib
import secrets
from datetime import datetime, timedelta

from django.conf import settings
from django.db import models
from django.db.models import Q

from annotation.models.study import Study
from tasks.clock import database_now

PREFIX = "handful_"  # lets secret scanners recognise a token
NOTED_AT_MOST_EVERY = timedelta(hours=1)

# A role's right (study.RIGHTS) -> the token scope that it requires; any scope includes "see".
SCOPE_OF_RIGHT = {"read": "read", "own": "run", "pay": "pay"}


def digest(token: str) -> str:
    """Return the token's SHA-256; its 256 random bits need no slower hash."""
    return hashlib.sha256(token.encode()).hexdigest()


class ApiTokenQuerySet(models.QuerySet["ApiToken"]):
    def valid(self) -> "ApiTokenQuerySet":
        """Return the tokens of active accounts that are neither revoked nor expired."""
        return self.filter(
            revoked_at=None, expires_at__gt=database_now(), owner__is_active=True
        ).select_related("owner")

    def of(self, token: str) -> "ApiToken":
        """Return that token's valid row, or raise ApiToken.DoesNotExist."""
        return self.valid().get(digest=digest(token))


class ApiToken(models.Model):
    """A researcher's token: its scopes, its study (None: all) and its expiry.

    It never allows more than its owner's role: each request passes the same access checks as pages
    (annotation/web/access.py).
    """

    owner = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="api_tokens"
    )
    name = models.CharField(max_length=60)
    study = models.ForeignKey(
        Study, null=True, blank=True, on_delete=models.CASCADE, related_name="api_tokens"
    )
    may_read = models.BooleanField(default=True)
    may_run = models.BooleanField(default=False)
    may_pay = models.BooleanField(default=False)
    digest = models.CharField(max_length=64, unique=True)
    last_characters = models.CharField(max_length=4)  # identify tokens on the page
    created_at = models.DateTimeField(auto_now_add=True)
    expires_at = models.DateTimeField()
    revoked_at = models.DateTimeField(null=True)
    last_used_at = models.DateTimeField(null=True)

    objects = ApiTokenQuerySet.as_manager()

    class Meta:
        ordering = ["-created_at", "-pk"]
        constraints = [
            models.CheckConstraint(
                condition=Q(may_read=True) | Q(may_run=True) | Q(may_pay=True),
                name="a_token_has_a_scope",
            ),
            models.CheckConstraint(
                condition=Q(expires_at__gt=models.F("created_at")),
                name="a_token_expires_after_it_was_made",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.name} (…{self.last_characters})"

    @classmethod
    def draw(cls) -> tuple[str, "ApiToken"]:
        """Return a new token, and an unsaved row with its hash; the token itself is not stored."""
        token = PREFIX + secrets.token_urlsafe(32)
        return token, cls(digest=digest(token), last_characters=token[-4:])

    @property
    def scopes(self) -> list[str]:
        return [scope for scope in ("read", "run", "pay") if getattr(self, f"may_{scope}")]

    def allows(self, right: str) -> bool:
        """Does its scope cover that right (study.RIGHTS)?"""
        return right not in SCOPE_OF_RIGHT or SCOPE_OF_RIGHT[right] in self.scopes

    def is_over(self, now: datetime) -> bool:
        return self.revoked_at is not None or self.expires_at <= now

    def note_use(self) -> None:
        """Store the time of use at most once an hour."""
        now = database_now()
        if self.last_used_at is None or now - self.last_used_at >= NOTED_AT_MOST_EVERY:
            ApiToken.objects.filter(pk=self.pk).update(last_used_at=now)

    def revoke(self) -> None:
        """Revoke the token; the row stays as a record of its use."""
        ApiToken.objects.filter(pk=self.pk, revoked_at=None).update(revoked_at=database_now())
