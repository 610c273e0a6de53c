"""Who else may do what in a study: owners, analysts, payers (models.RIGHTS says what each may).

Who made the study is its owner for ever, so that a study is never without one. Others are invited
by a link: an invited person without an account makes one. Every change is logged with the study.
"""

import secrets
from typing import Any

from django.conf import settings
from django.contrib.auth import get_user_model
from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import Q

from annotation.models import AuditEntry, Invitation, Member, Role, Study, Topic
from annotation.models.api_token import digest
from annotation.models.invitation import LASTS
from tasks import mail, teams
from tasks.clock import database_now


class TeamError(ValueError):
    """Why the team stays as it is; the text is for people."""


def add_colleague(study: Study, username: str, role: str, by: User) -> Member:
    """Add somebody with whom `by` shares a team already; all others are asked by an invitation.

    So nobody is added by a stranger, and names of accounts cannot be guessed. Raises TeamError.
    """
    if not _is_colleague(username, by):
        raise TeamError(
            f"You share no study with an account named {username!r}. Invite them by a link instead."
        )
    return add(study, username, role, by)


def add_to_task(name: str, username: str, by: User) -> None:
    """Add somebody with whom `by` shares a study to the team of a task; a superuser adds anybody.

    Raises teams.NotInTeam, teams.TeamError.
    """
    teams.check(name, by)
    if not by.is_superuser and not _is_colleague(username, by):
        raise teams.TeamError(
            f"You share no study with an account named {username!r}. Invite them into a study"
            " first."
        )
    teams.add(name, username, by)


def _is_colleague(username: str, by: User) -> bool:
    """Is that an open account with which `by` shares a study?"""
    shared = Study.objects.visible_to(by, "see").values("pk")
    together = Q(memberships__study__in=shared) | Q(studies__in=shared)
    same = get_user_model().objects.filter(together, username=username, is_active=True)
    return same.exists()


def add(study: Study, username: str, role: str, by: User) -> Member:
    """Add the researcher of that name to the team. Raises TeamError."""
    user = get_user_model().objects.filter(username=username, is_active=True).first()
    if user is None:
        raise TeamError(f"There is no account {username!r}.")
    if user.pk == study.owner_id:
        raise TeamError(f"{user} created this study and is already its owner.")
    with transaction.atomic():
        member, is_new = study.members.get_or_create(user=user, defaults={"role": role})
        if not is_new:
            raise TeamError(f"{user} is already in the team: change the role in the list.")
        _log(study, f"{user} joined the team as {role}", by, user, after={"role": role})
    return member


def change(study: Study, pk: int, role: str, by: User, was: str) -> None:
    """Give a member another role than they had (`was`); the same one changes nothing.

    Raises TeamError, also where somebody else gave them another one meanwhile.
    """
    with transaction.atomic():
        member = _member(study, pk)
        if was != member.role:
            raise TeamError(
                f"{member.user} is {member.role} now: somebody changed it after this page was"
                " opened. Please choose again."
            )
        if member.role == role:
            return
        roles = {"before": {"role": member.role}, "after": {"role": role}}
        what = f"{member.user} is {role} now, was {member.role}"
        _log(study, what, by, member.user, **roles)
        member.role = role
        member.save(update_fields=["role"])


def remove(study: Study, pk: int, by: User) -> None:
    """Take a member out of the team. Raises TeamError."""
    with transaction.atomic():
        member = _member(study, pk)
        was = {"role": member.role}
        what = f"{member.user} left the team, was {member.role}"
        _log(study, what, by, member.user, before=was)
        member.delete()


def _member(study: Study, pk: int) -> Member:
    # Two owners who change the same member at once: one after the other, each with its log entry.
    members = study.members.select_for_update(of=("self",), no_key=True).select_related("user")
    member = members.filter(pk=pk).first()
    if member is None:
        raise TeamError("They are not (or no longer) in the team.")
    return member


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
            _log(None, f"{user} accepted an invitation to this server", user, user)
        else:
            _join(invitation.study, str(invitation.role), user, invitation.made_by)


def _join(study: Study, role: str, user: User, by: User) -> None:
    if study.owner_id == user.pk or study.members.filter(user=user).exists():
        raise InvitationError(f"{user} is in the team of this study already.")
    study.members.create(user=user, role=Role(role))
    _log(study, f"{user} joined the team as {role}, invited by {by}", user, user)


def _log(study: Study | None, what: str, by: User, user: User | None = None, **change: Any) -> None:
    topic, about = Topic.TEAM if study else Topic.ACCOUNT, str(user or "")
    AuditEntry.objects.record(what[:200], topic, study=study, about=about, by=by, **change)
