"""Researchers can set their own Prolific token, which studies drafted with it then use."""

import logging

import pytest
from django.contrib.sessions.models import Session
from django.core.management import call_command
from django.db import IntegrityError, connection, transaction
from django.test import Client
from django.urls import reverse

from annotation.accounts import closing as accounts
from annotation.models import AuditEntry, ProlificAccount, ProlificStudy
from annotation.pay import ledger
from annotation.prolific.sync import sync_all
from annotation.study import team
from config import saved_forms
from tasks.clock import database_now
from tests import factories
from tests.annotation.prolific.fixtures import complete, pay_all

OWN, SECOND = "own-prolific-token-1234", "second-prolific-token-9876"
PAGE = "/tokens/prolific/"
REMOVED = "The API token for these Prolific studies was removed"


@pytest.fixture
def own(fake, settings):
    """Prolific accepts only the researcher's own token, and the server has none."""
    settings.PROLIFIC_TOKEN = ""
    fake.token = OWN
    return fake


def set_token(browser, token=OWN, **fields):
    factories.confirm_password(browser)
    return browser.post(PAGE, {"token": token, **fields})


def platforms_page(browser, study) -> str:
    return browser.get(reverse("platforms", args=[study.name]), follow=True).content.decode()


def plan(browser, study) -> ProlificStudy:
    browser.post(reverse("prolific_plan", args=[study.name]), {"annotation_parts": "0"})
    return study.prolific_studies.get()


def publish(browser, draft):
    address = reverse("prolific_study", args=[draft.study.name, draft.pk])
    return browser.post(address, factories.publishing(draft))


def sync(browser, study):
    return browser.post(reverse("prolific_sync", args=[study.name]), follow=True)


def syncs(browser, study) -> bool:
    reply = sync(browser, study)
    return reply.status_code == 200 and "Not synced" not in reply.content.decode()


@pytest.fixture
def colleague(study, other_researcher):
    """A client of another owner of the study, who has no token."""
    factories.may_spend(other_researcher)
    team.add(study, "grace", "owner", study.owner)
    browser = Client()
    browser.force_login(other_researcher)
    return browser


# Setting a token ---------------------------------------------------------------------------------


@pytest.mark.long
def test_a_study_uses_its_drafters_token_for_all_its_owners(own, payer, study, colleague):
    assert "No API token for Prolific is set" in platforms_page(payer, study)
    assert set_token(payer).status_code == 302
    page = payer.get(PAGE, follow=True).content.decode()
    assert "<code>1234</code>" in page
    assert "Prolific accepts the token ending in 1234" in page
    draft = plan(payer, study)
    assert draft.account == ProlificAccount.objects.get(owner=study.owner)
    for browser in (payer, colleague):
        assert "These studies use the token of ada ending in 1234" in platforms_page(browser, study)
    assert publish(colleague, draft).status_code == 302
    draft.refresh_from_db()
    assert own.study(draft.external_id)["status"] == "ACTIVE"
    assert syncs(colleague, study)
    asked = colleague.get(reverse("platforms", args=[study.name]), {"ask": "prolific"}, follow=True)
    assert "does not accept" not in asked.content.decode()


@pytest.mark.long
def test_tick_and_payments_use_the_accounts_token(own, payer, study):
    set_token(payer)
    publish(payer, plan(payer, study))
    there = study.prolific_studies.get()
    ida = complete(own, there)
    assert sync_all() == "1 synced"
    program = Client(headers=factories.bearer(study.owner, "run"))
    reply = program.post(reverse("api_prolific_sync", args=[study.name]), {}, "application/json")
    assert reply.status_code == 200
    assert "Not synced" not in reply.json()["done"]
    ledger.add_bonus(ida, 100, "thanks", None)
    assert all(result.endswith(": paid") for result in pay_all(study))
    assert set(study.payment_batches.values_list("state", flat=True)) == {"paid"}


def test_a_refused_token_is_not_stored_and_explained(own, ada, researcher, caplog):
    for token, sentence in (
        ("wrong-prolific-token", "Prolific does not accept the API token"),
        ("own-token\r\nX-More: 1", "Enter only the token"),
        ("4-few", "at least 8 characters"),
    ):
        reply = set_token(ada, token)
        assert reply.status_code == 422
        page = reply.content.decode()
        assert sentence in page
        assert "Traceback" not in page
        assert token not in page + caplog.text
    assert not ProlificAccount.objects.exists()
    assert not AuditEntry.objects.filter(what__contains="Prolific token").exists()


def test_an_unreachable_prolific_stores_nothing(own, ada, settings):
    settings.PROLIFIC_URL = "http://127.0.0.1:9"
    reply = set_token(ada)
    assert reply.status_code == 422
    assert "Prolific could not be reached" in reply.content.decode()
    assert not ProlificAccount.objects.exists()


def test_one_of_several_workspaces_must_be_chosen(own, ada):
    second = own.create_workspace("Second")
    project = own.create_project(second, "Words")
    reply = set_token(ada)
    assert reply.status_code == 422
    assert f"set Workspace to one of {own.first_workspace}" in reply.content.decode()
    assert set_token(ada, workspace=second).status_code == 302
    account = ProlificAccount.objects.get()
    assert (account.workspace, account.project) == (second, project)


@pytest.mark.long
def test_a_token_of_another_account_is_used_for_new_drafts_only(
    own, payer, study, researcher, monkeypatch
):
    set_token(payer)
    publish(payer, plan(payer, study))
    own.token, here = SECOND, own.me()
    monkeypatch.setattr(own, "me", lambda: here | {"id": "f" * 24})
    set_token(payer, SECOND)
    other = factories.make_study(
        researcher, study.tasks.get(), shots=[2], name="other", currency="GBP", hourly_rate=60
    )
    assert "New drafts use the token of ada ending in 9876" in platforms_page(payer, other)
    assert publish(payer, plan(payer, other)).status_code == 302
    assert not syncs(payer, study)  # Prolific now accepts only the second token
    own.token = OWN
    assert syncs(payer, study)


@pytest.mark.long
def test_the_server_token_is_used_if_the_owner_has_none(fake, payer, study, colleague, settings):
    fake.token = settings.PROLIFIC_TOKEN = "t"
    assert "New drafts use the token of the server" in platforms_page(payer, study)
    draft = plan(payer, study)
    assert draft.account is None
    assert publish(payer, draft).status_code == 302
    ProlificAccount.objects.create(
        owner=study.owner, external_id="x", token="y", last_characters="y", set_at=database_now()
    )
    assert syncs(payer, study)  # a token set later does not affect existing studies


def test_the_database_enforces_the_rules_of_accounts(researcher):
    def store(**fields):
        with transaction.atomic():
            ProlificAccount.objects.create(owner=researcher, set_at=database_now(), **fields)

    store(external_id="a", token="secret", last_characters="cret")
    for fields in (
        {"external_id": "b", "token": "secret"},
        {"external_id": "b", "last_characters": "cret"},
        {"token": "secret", "last_characters": "cret"},
        {"external_id": "a"},
    ):
        with pytest.raises(IntegrityError):
            store(**fields)


# Removing a token --------------------------------------------------------------------------------


@pytest.mark.long
def test_a_removed_token_is_gone_until_its_owner_sets_it_again(own, payer, study, colleague):
    set_token(payer)
    publish(payer, plan(payer, study))
    account = ProlificAccount.objects.get()
    remove = reverse("prolific_token_remove", args=[account.pk])
    assert colleague.post(remove)["Location"].startswith(reverse("account_reauthenticate"))
    assert "Remove" not in colleague.get(reverse("your_account")).content.decode()
    factories.confirm_password(colleague)
    assert colleague.post(remove).status_code == 404
    assert payer.post(remove).status_code == 302
    account.refresh_from_db()
    assert (account.token, account.last_characters, account.workspace) == ("", "", "")
    for browser in (payer, colleague):
        sentence = f"{REMOVED}. ada can set it again on the page Your account."
        assert sentence in platforms_page(browser, study)
        reply = sync(browser, study)
        assert reply.status_code == 409
        assert sentence in reply.content.decode()
    assert sync_all() == "0 synced"  # a removed token causes no server error
    set_token(payer)
    assert ProlificAccount.objects.get().pk == account.pk
    assert syncs(colleague, study)


@pytest.mark.long
def test_a_draft_without_a_token_can_be_drafted_again_with_one(own, payer, study):
    assert publish(payer, plan(payer, study)).status_code == 409
    set_token(payer)
    assert publish(payer, plan(payer, study)).status_code == 302


@pytest.mark.long
@pytest.mark.parametrize(
    ("how", "why"),
    [
        (accounts.close, " because the account ada was closed"),
        (accounts.erase, " with the account of its owner"),
    ],
)
def test_a_closed_account_leaves_no_token(own, payer, study, colleague, researcher, how, why):
    set_token(payer)
    publish(payer, plan(payer, study))
    accounts.close(researcher)
    if how is accounts.erase:
        how(researcher)
    account = ProlificAccount.objects.get()
    assert (account.token, account.last_characters) == ("", "")
    assert bool(account.external_id) == (how is accounts.close)
    page = platforms_page(colleague, study)
    assert f"{REMOVED}{why}. Finish the studies on Prolific" in page
    assert ("ask an administrator" in page) == (how is accounts.close)
    assert sync(colleague, study).status_code == 409
    assert AuditEntry.objects.filter(what="removed Prolific token ending in 1234").count() == 1


def test_an_erased_account_that_drafted_nothing_leaves_no_row(own, ada, researcher):
    set_token(ada)
    accounts.close(researcher)
    accounts.erase(researcher)
    assert not ProlificAccount.objects.exists()


# Secrecy -----------------------------------------------------------------------------------------


def test_the_page_confirms_the_password_before_showing_the_form(own, ada):
    assert "prolific_form" not in ada.get(reverse("your_account")).context
    reply = ada.get(PAGE, follow=True)
    assert reply.request["PATH_INFO"] == reverse("account_reauthenticate")
    # The confirmation was valid when the page opened, but has expired since.
    reply = ada.post(PAGE, {"token": OWN})
    assert reply.status_code == 403
    assert "your password confirmation has expired" in reply.content.decode()
    assert not ProlificAccount.objects.exists()
    assert nowhere(OWN)
    factories.confirm_password(ada)
    assert "Check and store" in ada.get(PAGE, follow=True).content.decode()


def test_a_lost_session_does_not_store_the_token(own, ada, researcher, client, rf):
    reply = client.post(PAGE, {"token": OWN, "workspace": "w"})
    assert OWN not in reply.content.decode()
    request = rf.post(PAGE, {"token": OWN, "workspace": "w"})
    assert saved_forms.keep(request).fields == [("workspace", "w")]


def nowhere(secret: str) -> bool:
    """Return whether the secret is in no session and in no table."""
    sessions = str([session.get_decoded() for session in Session.objects.all()])
    with connection.cursor() as cursor:
        rows = []
        for table in connection.introspection.table_names():
            cursor.execute(f'SELECT * FROM "{table}"')
            rows += cursor.fetchall()
    return secret not in sessions and secret not in str(rows)


@pytest.mark.long
def test_the_token_is_shown_logged_and_exported_nowhere(own, payer, study, caplog, tmp_path):
    caplog.set_level(logging.DEBUG)
    replies = [set_token(payer), payer.get(PAGE, follow=True)]
    publish(payer, plan(payer, study))
    own.mode(fail_next=3, fail_with=503)
    replies += [sync(payer, study), payer.get(reverse("platforms", args=[study.name]), follow=True)]
    replies += [payer.get(reverse("audit_log", args=[study.name])), payer.get(PAGE, follow=True)]
    assert OWN not in "".join(reply.content.decode() for reply in replies)
    assert OWN not in caplog.text
    assert nowhere(OWN)
    entry = AuditEntry.objects.get(what="set Prolific token ending in 1234")
    assert (entry.by, entry.about) == (study.owner, "ada")
    call_command("export_study", study.name, str(tmp_path / "out"), verbosity=0)
    stored = ProlificAccount.objects.get()
    texts = [path.read_bytes() for path in (tmp_path / "out").rglob("*") if path.is_file()]
    assert texts
    for secret in (OWN, stored.token, stored.external_id):
        assert not any(secret.encode() in text for text in texts)
