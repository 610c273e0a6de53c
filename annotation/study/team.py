"""A study's team: owners, analysts and payers (see models.study.RIGHTS).

The creator always remains an owner, so a study is never without one. Others are invited with a
link, through which they can create an account. All changes are logged with the study.
"""

import secrets
from typing import Any

from django.conf import settings
from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import Q

from annotation.models import AuditEntry, Invitation, Member, Role, Study, Topic
from annotation.models.accounts import LASTS, digest
from tasks import mail, teams
from tasks.clock import database_now

NO_MEMBER = "This person is not a member of the team."


class TeamError(ValueError):
    """Raised if the team was not changed. The message is shown to users."""


class StaleRole(TeamError):
    """Raised if another user has changed the role in the meantime."""


def add_colleague(study: Study, username: str, role: str, by: User) -> Member:
    """Add a user who shares a study with `by`, as usernames are not public. Raises TeamError."""
    if not _is_colleague(username, by):
        problem = f"You share no study with an account named {username!r}. Invite them with a link."
        raise TeamError(problem)
    return add(study, username, role, by)


def add_to_task(name: str, username: str, by: User) -> None:
    """Add a user to a task's team. They must share a study with `by`, unless `by` is a superuser.

    Raises teams.NotInTeam and teams.TeamError.
    """
    teams.check(name, by)
    if not by.is_superuser and not _is_colleague(username, by):
        raise teams.TeamError(
            f"You share no study with an account named {username!r}. Invite them into a study"
            " first."
        )
    teams.add(name, username, by)


def _is_colleague(username: str, by: User) -> bool:
    shared = Study.objects.visible_to(by, "see").values("pk")
    together = Q(memberships__study__in=shared) | Q(studies__in=shared)
    colleagues = User.objects.filter(together, username=username, is_active=True)
    return colleagues.exists()


def add(study: Study, username: str, role: str, by: User) -> Member:
    """Add the user with this name to the team. Raises TeamError."""
    user = User.objects.filter(username=username, is_active=True).first()
    if user is None:
        raise TeamError(f"The account {username!r} does not exist.")
    if user.pk == study.owner_id:
        raise TeamError(f"{user} created this study and is already its owner.")
    with transaction.atomic():
        member, is_new = study.members.get_or_create(user=user, defaults={"role": role})
        if not is_new:
            raise TeamError(f"{user} is already in the team. Change the role in the list.")
        _log(study, f"{user} joined the team as {role}", by, user, after={"role": role})
    return member


def change(study: Study, username: str, role: str, by: User, was: str = "") -> None:
    """Change a role, if given from `was`. Raises StaleRole and TeamError."""
    with transaction.atomic():
        member = _member(study, username)
        if was not in ("", member.role):
            raise StaleRole(
                f"{member.user} is now {member.role}: the role changed after you opened this page."
                " Choose again."
            )
        if member.role == role:
            return
        roles = {"before": {"role": member.role}, "after": {"role": role}}
        event = f"{member.user} is now {role}, was {member.role}"
        _log(study, event, by, member.user, **roles)
        member.role = role
        member.save(update_fields=["role"])


def remove(study: Study, username: str, by: User) -> None:
    """Remove a member from the team. Raises TeamError."""
    with transaction.atomic():
        member = _member(study, username)
        was = {"role": member.role}
        event = f"{member.user} left the team, was {member.role}"
        _log(study, event, by, member.user, before=was)
        member.delete()


def _member(study: Study, username: str) -> Member:
    # Serialise concurrent changes to a member, so that each one is logged.
    members = study.members.select_for_update(of=("self",), no_key=True).select_related("user")
    member = members.filter(user__username=username).first()
    if member is None:
        raise TeamError(NO_MEMBER)
    return member


class InvitationError(ValueError):
    """Raised if the invitation can't be used. The message is shown to users."""


def invite(study: Study | None, role: str | None, email: str, by: User) -> tuple[str, Invitation]:
    """Create an invitation. Return the secret in its link, which is not stored, and its row.

    If `study` is None, it is for this server. `email` is "" if the link is to be sent manually.
    """
    token, now = secrets.token_urlsafe(24), database_now()
    with transaction.atomic():
        invitation = Invitation.objects.create(
            study=study, role=role, email=email, digest=digest(token), made_by=by,
            created_at=now, expires_at=now + LASTS,
        )  # fmt: skip
        _log(study, f"invitation created{f' for the role {role}' if role else ''}", by)
    return token, invitation


def send(invitation: Invitation, link: str) -> bool:
    """Send the link by email. Return False if it was not sent, so must be passed on manually."""
    if not (invitation.email and settings.EMAIL_HOST):
        return False
    name = f"the study “{invitation.study.title}”" if invitation.study else "Handful"
    text = (
        f"{invitation.made_by} has invited you to {name}. Open this link within {LASTS.days} days."
        f" It works only once:\n\n{link}\n"
    )
    return mail.send(f"[Handful] Invitation to {name}", text, invitation.email)


def revoke(study: Study | None, pk: int, by: User) -> None:
    """Revoke an unused invitation. Raises InvitationError."""
    with transaction.atomic():
        is_open = Invitation.objects.open().filter(study=study, pk=pk).exists()
        unused = Invitation.objects.unused().filter(pk=pk)
        if not is_open or not unused.update(revoked_at=database_now()):
            raise InvitationError("This invitation has already been used, or has expired.")
        _log(study, "invitation revoked", by)


def accept(invitation: Invitation, user: User) -> None:
    """Store a new account, if needed, and join the team, if any. Raises InvitationError."""
    with transaction.atomic():
        is_open = Invitation.objects.open().filter(pk=invitation.pk).exists()
        # If two people use a link at the same time, only the first one's update matches a row.
        unused = Invitation.objects.unused().filter(pk=invitation.pk)
        if not is_open or not unused.update(accepted_at=database_now()):
            raise InvitationError("This invitation has been used, or has expired.")
        if user.pk is None:
            user.save()
        Invitation.objects.filter(pk=invitation.pk).update(accepted_by=user)
        if invitation.study is None:
            _log(None, f"{user} accepted an invitation to this server", user, user)
        else:
            _join(invitation.study, str(invitation.role), user, invitation.made_by)


def _join(study: Study, role: str, user: User, by: User) -> None:
    if study.owner_id == user.pk or study.members.filter(user=user).exists():
        raise InvitationError(f"{user} is already in the team of this study.")
    study.members.create(user=user, role=Role(role))
    _log(study, f"{user} joined the team as {role}, invited by {by}", user, user)


def _log(study: Study | None, text: str, by: User, user: User | None = None, **change: Any) -> None:
    topic, person = Topic.TEAM if study else Topic.ACCOUNT, str(user or "")
    AuditEntry.objects.record(text[:200], topic, study=study, about=person, by=by, **change)
