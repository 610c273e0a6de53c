"""Sensitive actions ask for the password, and a deleted account leaves no personal data."""

import pytest
from allauth.account.models import EmailAddress
from allauth.mfa.models import Authenticator
from django.apps import apps
from django.contrib.auth.models import Group, Permission, User
from django.contrib.sessions.models import Session
from django.core import mail
from django.core.serializers import serialize
from django.db import DatabaseError, transaction
from django.test import Client
from django.urls import reverse

from annotation.accounts import closing as accounts
from annotation.models import (
    ApiToken,
    AuditEntry,
    ExampleComment,
    Invitation,
    Notice,
    NoticeSwitch,
    Preferences,
    Topic,
)
from annotation.notices import webhooks
from annotation.study import team
from tasks.clock import database_now
from tasks.models import TaskMember
from tests import factories
from tests.annotation.study.test_api_studies import Program

TOKEN = {"name": "nightly", "scopes": ["read", "run", "pay"], "study": "", "days": "365"}


@pytest.fixture
def root(db) -> Client:
    browser = Client()
    browser.force_login(User.objects.create_superuser("root", password="right horse"))
    return browser


# An open session ---------------------------------------------------------------------------------


def test_making_a_token_needs_the_password(ada):
    reply = ada.post(reverse("tokens"), TOKEN)
    assert reply["Location"].startswith(reverse("account_reauthenticate"))
    assert not ApiToken.objects.exists()
    assert ada.get(reverse("tokens"), follow=True).status_code == 200
    # The requested action is completed after the password is entered.
    reply = ada.post(reply["Location"], {"password": "right horse", "next": reverse("tokens")})
    assert ApiToken.objects.get().name == "nightly"
    assert "handful_" in reply.content.decode()


@pytest.mark.parametrize("action", ["link", "no_code", "close", "delete", "spend", "administrator"])
def test_changing_accounts_needs_the_administrators_password(root, researcher, action):
    Authenticator.objects.create(user=researcher, type=Authenticator.Type.TOTP, data={})
    reply = root.post(reverse("users"), {"user": researcher.pk, "action": action, "typed": "ada"})
    assert reply["Location"].startswith(reverse("account_reauthenticate"))
    researcher.refresh_from_db()
    assert researcher.is_active
    assert not researcher.has_perm("annotation.spend")
    assert Authenticator.objects.exists()


def test_administrators_grant_rights_and_withdraw_them(root, researcher):
    factories.confirm_password(root)
    for right in ("spend", "administrator"):
        for action, has in ((right, True), (f"no_{right}", False)):
            root.post(reverse("users"), {"user": researcher.pk, "action": action})
            user = User.objects.get(pk=researcher.pk)
            assert user.has_perm("annotation.spend") is has
            assert user.is_superuser is (action == "administrator")
    logged = AuditEntry.objects.filter(topic="account", about="ada", what__startswith="ada ")
    assert logged.count() == 4


def test_django_admin_is_not_served(root):
    assert root.get("/admin/").status_code == 404


def test_accounts_are_notified_by_mail_of_changes_to_them(ada, root, researcher, settings):
    settings.EMAIL_HOST = "mail.example"
    User.objects.filter(pk=researcher.pk).update(email="ada@example.org")
    factories.confirm_password(ada)
    ada.post(reverse("tokens"), TOKEN)
    factories.confirm_password(root)
    for action in ("link", "no_code", "close", "open"):
        root.post(reverse("users"), {"user": researcher.pk, "action": action})
    assert [message.to for message in mail.outbox] == [["ada@example.org"]] * 5
    assert "Scopes: read, run, pay" in mail.outbox[0].body


# A new password ----------------------------------------------------------------------------------


@pytest.mark.parametrize("how", ["changed", "by a link"])
def test_a_new_password_revokes_the_tokens_of_the_account(ada, root, researcher, how):
    program = Program(researcher)
    assert program.get("/studies/").status_code == 200
    new = {"password1": "an-other-1-pw", "password2": "an-other-1-pw"}
    if how == "changed":
        ada.post(reverse("password_change"), {"oldpassword": "right horse"} | new)
    else:
        factories.confirm_password(root)
        page = root.post(reverse("users"), {"user": researcher.pk, "action": "link"})
        browser = Client()
        reply = browser.get(page.context["link"], follow=True)
        browser.post(reply.redirect_chain[-1][0], new)
    researcher.refresh_from_db()
    assert researcher.check_password("an-other-1-pw")
    assert program.get("/studies/").status_code == 401
    assert AuditEntry.objects.filter(what="API tokens revoked: 1", about="ada").exists()


# Deletion ----------------------------------------------------------------------------------------

NAME = "ada-lovelace"


@pytest.fixture
def everywhere(db):
    """An account with a row in every table with erasable references to accounts."""
    user = User.objects.create_superuser(NAME, f"{NAME}@example.org", "right horse")
    User.objects.filter(pk=user.pk).update(first_name=NAME, last_name=NAME)
    other = User.objects.create_user("grace")
    browser = Client()
    # Signing in writes an audit entry.
    browser.post(reverse("login"), {"login": NAME, "password": "right horse"})
    task = factories.make_task()
    study = factories.make_study(user, task, shots=[2])
    team.add(study, "grace", "owner", user)
    others = factories.make_study(other, task, shots=[2], name="others", title="Others")
    team.add(others, NAME, "owner", other)
    token, invitation = team.invite(others, "analyst", "", user)
    Client().post(
        reverse("invitation", args=[token]),
        {"username": "eve", "password1": "right horse", "password2": "right horse"},
    )
    team.invite(others, "analyst", f"{NAME}@example.org", other)
    Invitation.objects.exclude(pk=invitation.pk).update(
        accepted_by=user, accepted_at=database_now()
    )
    webhooks.make(others, "https://example.org/", ["study.paused"], user)
    factories.bearer(user)
    Preferences.objects.create(user=user, time_zone="Europe/London")
    Notice.objects.create(
        user=user, study=study, about="first", subject="x", what="x", page="x",
        created_at=database_now(),
    )  # fmt: skip
    NoticeSwitch.objects.create(user=user, study=study)
    TaskMember.objects.create(task_name=task.name, user=user, added_by=other)
    Authenticator.objects.create(user=user, type=Authenticator.Type.TOTP, data={})
    EmailAddress.objects.create(user=user, email=f"{NAME}@example.org")
    user.groups.add(Group.objects.create(name="g"))
    user.user_permissions.add(Permission.objects.first())
    example = task.test_split.examples.first()
    ExampleComment.objects.create(example=example, study=study, by=user, text="Odd gold.")
    return user


def rows_with(text: str) -> list[str]:
    """Return every table that contains this text."""
    found = []
    for model in apps.get_models(include_auto_created=True):
        if text in serialize("json", model._base_manager.all()):
            found.append(model._meta.label)
        if model is Session and any(
            text in str(session.get_decoded()) for session in Session.objects.all()
        ):
            found.append(model._meta.label)
    return found


@pytest.mark.long
@pytest.mark.engines
def test_the_name_of_a_deleted_account_is_removed_everywhere(everywhere, root):
    user = everywhere
    assert {"auth.User", "annotation.AuditEntry"} <= set(rows_with(NAME))
    entries = AuditEntry.objects.count()
    factories.confirm_password(root)
    fields = {"user": user.pk, "action": "delete"}
    assert root.post(reverse("users"), fields | {"typed": "x"}).status_code == 422
    assert root.post(reverse("users"), fields | {"typed": NAME}).status_code == 409  # still open
    root.post(reverse("users"), {"user": user.pk, "action": "close"})
    assert root.post(reverse("users"), fields | {"typed": NAME}).status_code == 302
    root.get(reverse("users"))  # shows the pending message, which the session stores
    assert rows_with(NAME) == []
    assert AuditEntry.objects.get(topic=Topic.TASK, after__has_key="member").after == {
        "member": f"deleted-{user.pk}"
    }
    user.refresh_from_db()
    assert user.username == f"deleted-{user.pk}"
    assert (user.is_active, user.is_superuser, user.has_usable_password()) == (False, False, False)
    assert not user.groups.exists()
    assert not any(
        session.get_decoded().get("_auth_user_id") == str(user.pk)
        for session in Session.objects.all()
    )
    for model in apps.get_models():
        theirs = {"Preferences", "Notice", "NoticeSwitch", "ApiToken", "Member", "Webhook"}
        for field in model._meta.concrete_fields:
            if model.__name__ in theirs and field.related_model is User:
                assert not model._default_manager.filter(**{field.name: user}).exists(), model
    assert AuditEntry.objects.count() > entries  # the log is complete
    assert AuditEntry.objects.filter(what=f"eve joined the team as analyst, invited by {user}")
    assert user.studies.exists()


@pytest.mark.engines
def test_the_audit_log_allows_only_the_replacement_of_that_name(everywhere):
    entry = AuditEntry.objects.filter(topic=Topic.TEAM, about=NAME).first()
    name = f"deleted-{everywhere.pk}"
    renamed = {"about": name, "what": entry.what.replace(NAME, name)}

    def change(**fields) -> bool:
        try:
            with transaction.atomic():
                AuditEntry.objects.filter(pk=entry.pk).update(**fields)
        except DatabaseError:
            return False
        return True

    assert not change(**renamed)  # the account is still open
    accounts.close(everywhere)
    for fields in (
        {"what": "nothing"}, renamed | {"what": "nothing"}, renamed | {"after": {}},
        renamed | {"by": everywhere}, {"about": "deleted-0"}, {"after": {"role": "owner"}},
    ):  # fmt: skip
        assert not change(**fields), fields
    assert change(**renamed)


def test_the_name_of_a_deleted_account_cannot_be_taken(root):
    token, _row = team.invite(None, None, "", User.objects.get(username="root"))
    fields = {"username": "Deleted-7", "password1": "right horse", "password2": "right horse"}
    assert Client().post(reverse("invitation", args=[token]), fields).status_code == 422
