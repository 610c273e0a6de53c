"""Links that invite people to a team or to the server, and the administrators' accounts page."""

import re
import threading
from datetime import timedelta

import pytest
from django.contrib.auth.models import User
from django.core import mail
from django.db import connections
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from annotation.accounts import closing as accounts
from annotation.models import AuditEntry, Invitation, Member
from annotation.study import team
from tests import factories

NEW = {"username": "bob", "password1": "right horse", "password2": "right horse"}


@pytest.fixture
def study(researcher):
    return factories.make_study(researcher, factories.make_task(), shots=[2], name="pilot")


def invite(ada, role="analyst", email="") -> str:
    """Send an invitation, and return the path of the link, which the page shows only once."""
    sent = {"action": "invite", "role": role, "email": email}
    reply = ada.post(reverse("team", args=["pilot"]), sent)
    assert reply.status_code == 201
    (link,) = re.findall(r'value="http://testserver(/invitation/[^"]+)"', reply.content.decode())
    return link


def test_an_invited_person_makes_an_account_and_joins_the_team(ada, study):
    link = invite(ada)
    bob = Client()
    assert "as analyst" in bob.get(link).content.decode()
    assert bob.post(link, NEW)["Location"] == reverse("study", args=["pilot"])
    assert bob.get(reverse("human_performance", args=["pilot"])).status_code == 200
    assert bob.post(reverse("team", args=["pilot"])).status_code == 403
    assert study.events.last().what == "bob joined the team as analyst, invited by ada"


def test_an_invited_person_with_an_account_joins_with_it(ada, study, other_researcher):
    link, grace = invite(ada, role="payer"), Client()
    grace.force_login(other_researcher)
    assert "Join as grace" in grace.get(link).content.decode()
    assert grace.post(link).status_code == 302
    assert study.members.get().role == "payer"
    assert User.objects.count() == 2


def test_an_invitation_works_once(ada, study):
    link = invite(ada)
    Client().post(link, NEW)
    reply = Client().post(link, NEW | {"username": "eve"})
    assert reply.status_code == 404
    assert "has expired, or has already been used or revoked" in reply.content.decode()
    assert not User.objects.filter(username="eve").exists()


def test_an_invitation_expires_after_a_week(ada, study):
    link = invite(ada)
    Invitation.objects.update(expires_at=timezone.now() - timedelta(seconds=1))
    assert Client().get(link).status_code == 404
    assert Client().post(link, NEW).status_code == 404
    assert not Member.objects.exists()


def test_a_revoked_link_opens_nothing(ada, study):
    link = invite(ada)
    sent = {"action": "revoke", "invitation": str(Invitation.objects.get().pk)}
    assert ada.post(reverse("team", args=["pilot"]), sent).status_code == 302
    assert Client().post(link, NEW).status_code == 404
    assert ada.post(reverse("team", args=["pilot"]), sent).status_code == 422


def test_an_invitation_ends_with_the_role_of_its_maker(ada, study, other_researcher):
    study.members.create(user=other_researcher, role="owner")
    grace = Client()
    grace.force_login(other_researcher)
    link = invite(grace)
    study.members.all().delete()
    reply = Client().post(link, NEW)
    assert reply.status_code == 404
    assert not User.objects.filter(username="bob").exists()
    assert not study.members.exists()


def test_an_invitation_ends_with_the_account_of_its_maker(ada, study, researcher):
    """Reopening the account doesn't make the link valid again."""
    link = invite(ada)
    headers = factories.bearer(researcher)
    accounts.close(researcher)
    assert Client().post(link, NEW).status_code == 404
    accounts.reopen(researcher)
    assert Client().get("/api/v1/studies/", headers=headers).status_code == 401
    assert Client().post(link, NEW).status_code == 404
    assert AuditEntry.objects.filter(what="invitations revoked: 1", about="ada").exists()
    researcher.refresh_from_db()
    other = team.invite(study, "owner", "", researcher)[0]
    User.objects.update(is_active=False)  # without accounts.close()
    assert Client().post(reverse("invitation", args=[other]), NEW).status_code == 404
    assert not User.objects.filter(username="bob").exists()


@pytest.mark.parametrize("change", [{"is_active": False}, {"is_superuser": False}])
def test_an_invitation_to_the_server_ends_with_its_administrator(root, change):
    administrator = User.objects.get(username="root")
    token, _row = team.invite(None, None, "", administrator)
    User.objects.update(**change)
    assert Client().post(reverse("invitation", args=[token]), NEW).status_code == 404
    assert User.objects.count() == 1


def test_an_invalid_form_makes_no_account_and_the_link_remains(ada, study):
    link = invite(ada)
    reply = Client().post(link, NEW | {"password2": "another"})
    assert reply.status_code == 422
    assert Client().get(link).status_code == 200
    assert not User.objects.filter(username="bob").exists()


def test_only_an_owner_invites(ada, study, other_researcher):
    study.members.create(user=other_researcher, role="analyst")
    grace = Client()
    grace.force_login(other_researcher)
    sent = {"action": "invite", "role": "owner"}
    assert grace.post(reverse("team", args=["pilot"]), sent).status_code == 403
    assert not Invitation.objects.exists()


def test_the_link_is_mailed_if_possible_and_is_not_stored(ada, study, settings):
    settings.EMAIL_HOST = "mail.example.org"
    link = invite(ada, email="bob@example.org")
    (message,) = mail.outbox
    assert message.to == ["bob@example.org"]
    assert link in message.body
    assert link.split("/")[2] not in str(Invitation.objects.values().get())
    assert 'value="bob@example.org"' in Client().get(link).content.decode()


@pytest.mark.postgres
@pytest.mark.django_db(transaction=True)
def test_of_simultaneous_uses_of_one_link_one_joins(researcher):
    study = factories.make_study(researcher, factories.make_task(), shots=[2], name="pilot")
    token, _invitation = team.invite(study, "analyst", "", researcher)
    barrier, replies = threading.Barrier(4), []

    def join(name) -> None:
        browser = Client()
        barrier.wait()
        reply = browser.post(reverse("invitation", args=[token]), NEW | {"username": name})
        replies.append(reply.status_code)
        connections.close_all()

    threads = [threading.Thread(target=join, args=[f"bob-{number}"]) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert replies.count(302) == 1
    assert study.members.count() == 1
    assert User.objects.count() == 2


# The administrators' page ------------------------------------------------------------------------


@pytest.fixture
def root(db) -> Client:
    browser = Client()
    browser.force_login(User.objects.create_superuser("root", password="right horse"))
    factories.confirm_password(browser)
    return browser


def change(root, user, action, follow=True):
    fields = {"user": str(user.pk), "action": action}
    return root.post(reverse("users"), fields, follow=follow)


def test_only_administrators_see_the_accounts(ada, client, other_researcher):
    assert ada.get(reverse("users")).status_code == 404
    assert change(ada, other_researcher, "close").status_code == 404
    assert Client().get(reverse("users"))["Location"].startswith(reverse("login"))


def test_a_closed_account_is_signed_out_and_can_be_opened_again(root, ada, researcher):
    assert "The account ada was closed." in change(root, researcher, "close").content.decode()
    assert ada.get(reverse("studies")).status_code == 302
    change(root, researcher, "open")
    assert ada.get(reverse("studies")).status_code == 200


def test_administrators_cannot_close_their_own_account(root):
    reply = change(root, User.objects.get(username="root"), "close")
    assert reply.status_code == 422
    assert User.objects.get(username="root").is_active


def test_an_administrator_can_hand_over_a_password_link(root, researcher):
    page = change(root, researcher, "link").content.decode()
    (link,) = re.findall(r'value="http://testserver(/password/reset/key/[^"]+)"', page)
    browser = Client()
    address = browser.get(link, follow=True).redirect_chain[-1][0]
    browser.post(address, {"password1": "a better horse", "password2": "a better horse"})
    researcher.refresh_from_db()
    assert researcher.check_password("a better horse")


def test_an_administrator_invites_to_the_server(root):
    reply = root.post(reverse("users"), {"action": "invite", "email": ""})
    (link,) = re.findall(r'value="http://testserver(/invitation/[^"]+)"', reply.content.decode())
    bob = Client()
    assert bob.post(link, NEW)["Location"] == reverse("studies")
    assert bob.get(reverse("studies")).status_code == 200
    assert not User.objects.get(username="bob").is_superuser
