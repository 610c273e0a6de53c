"""Who else may do what in a study: owners, analysts, payers (models.RIGHTS says what each may).

Who made the study is its owner for ever, so that a study is never without one. Every change is
logged with the study.
"""

from typing import Any

from django.contrib.auth import get_user_model
from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import Q

from annotation.models import Member, Study, Topic
from tasks import teams


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
        _log(study, user, f"joined the team as {role}", by, after={"role": role})
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
        _log(study, member.user, f"is {role} now, was {member.role}", by, **roles)
        member.role = role
        member.save(update_fields=["role"])


def remove(study: Study, pk: int, by: User) -> None:
    """Take a member out of the team. Raises TeamError."""
    with transaction.atomic():
        member = _member(study, pk)
        was = {"role": member.role}
        _log(study, member.user, f"left the team, was {member.role}", by, before=was)
        member.delete()


def _log(study: Study, user: User, what: str, by: User, **change: Any) -> None:
    words = f"{user} {what}"[:200]
    study.events.record(words, Topic.TEAM, study=study, about=str(user), by=by, **change)


def _member(study: Study, pk: int) -> Member:
    # Two owners who change the same member at once: one after the other, each with its log entry.
    members = study.members.select_for_update(of=("self",), no_key=True).select_related("user")
    member = members.filter(pk=pk).first()
    if member is None:
        raise TeamError("They are not (or no longer) in the team.")
    return member
