"""Inviting people by a link: who has no account makes one, and joins the team of the study."""

import secrets

from django.conf import settings
from django.contrib.auth.models import User
from django.db import transaction

from annotation.models import AuditEntry, Invitation, Role, Study, Topic
from annotation.models.api_token import digest
from annotation.models.invitation import LASTS
from tasks import mail
from tasks.clock import database_now


class InvitationError(ValueError):
    """Why nobody joins by it; the text is for people."""


def invite(study: Study | None, role: str | None, email: str, by: User) -> tuple[str, Invitation]:
    """A new invitation and the secret of its link, which is known now and never again.

    Without a study it is one to this server. `email` is "" where the link is handed over by hand.
    """
    token, now = secrets.token_urlsafe(24), database_now()
    with transaction.atomic():
        invitation = Invitation.objects.create(
            study=study, role=role, email=email, digest=digest(token), made_by=by,
            created_at=now, expires_at=now + LASTS,
        )  # fmt: skip
        _log(study, f"somebody was invited{f' as {role}' if role else ''}", by)
    return token, invitation


def send(invitation: Invitation, link: str) -> bool:
    """Send the link by mail; False where no mail goes out, so that it is handed over by hand."""
    if not (invitation.email and settings.EMAIL_HOST):
        return False
    what = f"the study “{invitation.study.title}”" if invitation.study else "Handful"
    text = (
        f"{invitation.made_by} invites you to {what}. Open this link within"
        f" {LASTS.days} days; it works once:\n\n{link}\n"
    )
    return mail.send(f"[Handful] Invitation to {what}", text, invitation.email)


def revoke(study: Study | None, pk: int, by: User) -> None:
    """End an invitation before anybody has used it. Raises InvitationError."""
    with transaction.atomic():
        is_open = Invitation.objects.open().filter(study=study, pk=pk).exists()
        mine = Invitation.objects.unused().filter(pk=pk)
        if not is_open or not mine.update(revoked_at=database_now()):
            raise InvitationError("This invitation was used, or has ended already.")
        _log(study, "an invitation was revoked", by)


def accept(invitation: Invitation, user: User) -> None:
    """Store the account where it is new, and let it into the team. Raises InvitationError."""
    with transaction.atomic():
        is_open = Invitation.objects.open().filter(pk=invitation.pk).exists()
        # Of two who use one link at once the first one updates its row; the second finds none.
        mine = Invitation.objects.unused().filter(pk=invitation.pk)
        if not is_open or not mine.update(accepted_at=database_now()):
            raise InvitationError("This invitation was used, or has ended.")
        if user.pk is None:
            user.save()
        Invitation.objects.filter(pk=invitation.pk).update(accepted_by=user)
        if invitation.study is None:
            _log(None, f"{user} accepted an invitation to this server", user, str(user))
        else:
            _join(invitation.study, str(invitation.role), user, invitation.made_by)


def _join(study: Study, role: str, user: User, by: User) -> None:
    if study.owner_id == user.pk or study.members.filter(user=user).exists():
        raise InvitationError(f"{user} is in the team of this study already.")
    study.members.create(user=user, role=Role(role))
    _log(study, f"{user} joined the team as {role}, invited by {by}", user, str(user))


def _log(study: Study | None, what: str, by: User, about: str = "") -> None:
    topic = Topic.TEAM if study else Topic.ACCOUNT
    AuditEntry.objects.record(what, topic, study=study, about=about, by=by)
