"""Invitations to create an account on this server, with or without joining a study's team."""

from datetime import timedelta

from django.conf import settings
from django.db import models
from django.db.models import Q

from annotation.models.api_token import digest
from annotation.models.study import Role, Study, made_by_an_owner
from tasks.clock import database_now
from tasks.models.choices import one_of

LASTS = timedelta(days=7)


class InvitationQuerySet(models.QuerySet["Invitation"]):
    def unused(self) -> "InvitationQuerySet":
        """Return those neither accepted nor revoked; no joins, which updates would not recheck."""
        return self.filter(accepted_at=None, revoked_at=None)

    def open(self) -> "InvitationQuerySet":
        """Return those not accepted, revoked or expired, whose inviter may still invite.

        The inviter must have an active account, as the study's owner or as an administrator.
        """
        administrator = Q(study=None, made_by__is_active=True, made_by__is_superuser=True)
        still_open = self.unused().filter(expires_at__gt=database_now())
        return still_open.filter(administrator | made_by_an_owner())

    def of(self, token: str) -> "Invitation | None":
        """Return that link's open invitation, or None."""
        return self.open().select_related("study", "made_by").filter(digest=digest(token)).first()


class Invitation(models.Model):
    """A link that one person may use once; its secret is shown at creation and not stored."""

    # None: an administrator's invitation to this server.
    study = models.ForeignKey(
        Study, null=True, on_delete=models.CASCADE, related_name="invitations"
    )
    role = models.CharField(max_length=7, choices=Role, null=True)
    email = models.EmailField(blank=True)
    digest = models.CharField(max_length=64, unique=True)
    made_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+"
    )
    created_at = models.DateTimeField()
    expires_at = models.DateTimeField()
    revoked_at = models.DateTimeField(null=True)
    accepted_at = models.DateTimeField(null=True)
    accepted_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+"
    )

    objects = InvitationQuerySet.as_manager()

    class Meta:
        ordering = ["pk"]
        constraints = [
            one_of("role", Role, "an_invitation_has_a_known_role"),
            models.CheckConstraint(
                condition=Q(study=None, role=None) | Q(study__isnull=False, role__isnull=False),
                name="an_invitation_to_a_study_has_a_role",
            ),
            models.CheckConstraint(
                condition=Q(accepted_at=None) | Q(revoked_at=None),
                name="an_invitation_is_accepted_or_revoked",
            ),
        ]

    def __str__(self) -> str:
        return f"invitation {self.pk} to {self.study or 'this server'}"
