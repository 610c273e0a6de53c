"""Closing and erasing accounts, along with their invitations, tokens and webhooks.

Erasing an account renames its row rather than deleting it, because studies, decisions and logs
refer to it.
"""

from allauth.account.models import EmailAddress
from allauth.mfa.models import Authenticator
from allauth.socialaccount.models import SocialAccount
from django.contrib.auth import SESSION_KEY
from django.contrib.auth.models import User
from django.contrib.sessions.models import Session
from django.db import transaction
from django.db.models import Q

from annotation.models import (
    ApiToken,
    AuditEntry,
    Invitation,
    Member,
    Notice,
    NoticeSwitch,
    Preferences,
    Topic,
    Webhook,
)
from annotation.models.notices import WITH_MAKER
from tasks.clock import database_now
from tasks.models import TaskMember

DELETED = "deleted-"  # prefix for names of erased accounts, which new accounts may not use


class AccountError(ValueError):
    """The account was not changed. The user sees the message."""


def close(user: User) -> None:
    """Deactivate an account, and permanently disable its invitations, tokens and webhooks."""
    with transaction.atomic():
        user.is_active = False
        user.save(update_fields=["is_active"])
        _revoke_access(user)
        AuditEntry.objects.record("account closed", Topic.ACCOUNT, about=str(user))


def reopen(user: User) -> None:
    user.is_active = True
    user.save(update_fields=["is_active"])
    AuditEntry.objects.record("account opened", Topic.ACCOUNT, about=str(user))


def revoke_tokens(user: User, by: User | None = None) -> int:
    now = database_now()
    tokens = user.api_tokens.filter(revoked_at=None, expires_at__gt=now)
    count = tokens.update(revoked_at=now)
    if count:
        action = f"API tokens revoked: {count}"
        AuditEntry.objects.record(action, Topic.ACCOUNT, about=str(user), by=by)
    return count


def erase(user: User) -> str:
    """Delete the data of a closed account. Returns its new name in the log. Raises AccountError."""
    with transaction.atomic():
        user = User.objects.select_for_update().get(pk=user.pk)
        if user.is_active:
            raise AccountError("Close the account first.")
        name = f"{DELETED}{user.pk}"
        _revoke_access(user)
        ApiToken.objects.filter(owner=user).delete()
        user.prolific_accounts.filter(studies=None).delete()
        user.prolific_accounts.update(external_id="")
        for model in (Member, TaskMember, Notice, NoticeSwitch, Preferences):
            model._default_manager.filter(user=user).delete()
        for credential in (Authenticator, EmailAddress, SocialAccount):
            credential._default_manager.filter(user=user).delete()
        Invitation.objects.filter(Q(made_by=user) | Q(accepted_by=user)).delete()
        for session in Session.objects.iterator():
            if session.get_decoded().get(SESSION_KEY) == str(user.pk):
                session.delete()
        # Do this before the row is renamed: the log's guard compares the old name with the row.
        _rename_in_log(user.username, name)
        user.username, user.email, user.first_name, user.last_name = name, "", "", ""
        user.is_staff = user.is_superuser = False
        user.last_login = None
        user.set_unusable_password()
        user.save()
        user.groups.clear()
        user.user_permissions.clear()
        AuditEntry.objects.record("account deleted", Topic.ACCOUNT, about=name)
    return name


def _revoke_access(user: User) -> None:
    revoke_tokens(user)
    for account in user.prolific_accounts.all():
        account.remove_token()
    count = Invitation.objects.unused().filter(made_by=user).update(revoked_at=database_now())
    if count:
        action = f"invitations revoked: {count}"
        AuditEntry.objects.record(action, Topic.ACCOUNT, about=str(user))
    for webhook in Webhook.objects.filter(made_by=user).select_related("study"):
        webhook.end(reason=WITH_MAKER)


def _rename_in_log(old: str, new: str) -> None:
    """Replace the username (whole words only) in log entries on teams, accounts and tasks."""
    entries = AuditEntry.objects.filter(topic__in=(Topic.TEAM, Topic.ACCOUNT, Topic.TASK))
    entries.filter(after={"member": old}).update(after={"member": new})  # entries on a task's team
    for entry in entries.filter(Q(what__contains=old) | Q(about__contains=old)):
        texts = {  # replaced as the guard of the log requires (annotation/guards.py)
            field: f" {getattr(entry, field)} ".replace(f" {old} ", f" {new} ")[1:-1]
            for field in ("what", "about")
        }
        AuditEntry.objects.filter(pk=entry.pk).update(**texts)
