"""Two-factor authentication, and resetting a password by mail."""

import re
import time

import pytest
from allauth.mfa.models import Authenticator
from allauth.mfa.totp.internal.auth import format_hotp_value, hotp_value
from django.core import mail
from django.core.cache import cache
from django.test import Client
from django.urls import reverse

from tests import factories
from tests.config.test_saved_forms import forget, form_of, sign_in

RIGHT = {"login": "ada", "password": "right horse"}


def code_of(secret: str, steps: int = 0) -> str:
    """Return the authenticator's current code, or the code `steps` half minutes later."""
    return format_hotp_value(hotp_value(secret, int(time.time()) // 30 + steps))


def switch_on(browser) -> str:
    """Switch on two-factor authentication for the signed-in user; return the secret."""
    address = reverse("mfa_activate_totp")
    reply = browser.get(address, follow=True)
    if "password" in reply.context["form"].fields:
        reply = browser.post(
            reply.redirect_chain[-1][0], {"password": "right horse", "next": address}, follow=True
        )
    secret = reply.context["form"].secret
    browser.post(address, {"code": code_of(secret)})
    cache.clear()  # allows another code in the same half minute
    return secret


@pytest.fixture
def secret(ada) -> str:
    secret = switch_on(ada)
    assert Authenticator.objects.filter(type="totp").exists()
    return secret


def with_password() -> Client:
    """A browser that has sent the password but not the code."""
    browser = Client()
    reply = browser.post(reverse("login"), RIGHT)
    assert reply["Location"] == reverse("mfa_authenticate")
    return browser


def is_signed_in(browser) -> bool:
    return browser.get(reverse("studies")).status_code == 200


def test_a_password_alone_does_not_sign_in(secret):
    browser = with_password()
    assert not is_signed_in(browser)
    reply = browser.post(reverse("mfa_authenticate"), {"code": "000000"})
    assert "Incorrect code." in reply.content.decode()
    assert not is_signed_in(browser)


def test_a_code_of_the_app_signs_in_and_works_once(secret):
    code = code_of(secret)
    browser, other = with_password(), with_password()
    assert browser.post(reverse("mfa_authenticate"), {"code": code}).status_code == 302
    assert is_signed_in(browser)
    other.post(reverse("mfa_authenticate"), {"code": code})
    assert not is_signed_in(other)


def test_a_recovery_code_signs_in_once(ada, secret):
    page = ada.get(reverse("mfa_view_recovery_codes")).content.decode()
    code, *others = re.findall(r"<code>([0-9]{8})</code>", page)
    assert len(others) == 9
    for expected in (True, False):
        browser = with_password()
        browser.post(reverse("mfa_authenticate"), {"code": code})
        assert is_signed_in(browser) == expected


def test_eight_wrong_codes_refuse_the_right_one(secret):
    browser = with_password()
    for _ in range(8):
        browser.post(reverse("mfa_authenticate"), {"code": "000000"})
    reply = browser.post(reverse("mfa_authenticate"), {"code": code_of(secret)})
    assert "Too many" in reply.content.decode()
    assert not is_signed_in(browser)


def test_what_is_stored_is_encrypted(secret):
    stored = str(list(Authenticator.objects.values_list("data", flat=True)))
    assert secret not in stored


def test_the_page_shows_a_qr_code_and_the_key(ada):
    reply = ada.get(reverse("mfa_activate_totp"), follow=True)
    fields = {"password": "right horse", "next": reverse("mfa_activate_totp")}
    page = ada.post(reply.redirect_chain[-1][0], fields, follow=True).content.decode()
    assert '<svg class="qr"' in page
    assert re.search(r'<code class="secret">[A-Z2-7]{32}</code>', page)


def test_switching_it_off_deletes_the_recovery_codes(ada, secret):
    ada.post(reverse("mfa_deactivate_totp"))
    assert not Authenticator.objects.exists()
    assert Client().post(reverse("login"), RIGHT)["Location"] == reverse("studies")


def test_a_form_survives_both_steps_of_signing_in(ada, secret, researcher):
    study = factories.make_study(researcher, factories.make_task(), shots=[2], name="pilot")
    forget(ada)
    reply = ada.post(reverse("study_status", args=["pilot"]), {"action": "pause"})
    reply = sign_in(ada, reply)
    assert reply["Location"] == reverse("mfa_authenticate")
    reply = ada.post(reverse("mfa_authenticate"), {"code": code_of(secret)})
    address, sent = form_of(reply, "Send")
    assert (address, sent["action"]) == (reverse("study_status", args=["pilot"]), "pause")
    study.refresh_from_db()
    assert study.status == "open"


# A new password by mail ---------------------------------------------------------------------------


@pytest.fixture
def sends_mail(settings, researcher):
    settings.EMAIL_HOST = "mail.example.org"
    researcher.email = "ada@example.org"
    researcher.save()


def test_a_link_by_mail_sets_a_new_password_once(client, sends_mail, researcher):
    client.post(reverse("account_reset_password"), {"email": "ada@example.org"})
    (message,) = mail.outbox
    assert message.to == ["ada@example.org"]
    (link,) = re.findall(r"http://testserver(\S+)", message.body)
    reply = client.get(link, follow=True)
    address = reply.redirect_chain[-1][0]
    assert researcher.username not in address
    fields = {"password1": "a better horse", "password2": "a better horse"}
    reply = client.post(address, fields, follow=True)
    assert "Password changed" in reply.content.decode()
    assert (
        Client().post(reverse("login"), RIGHT | {"password": "a better horse"}).status_code == 302
    )
    assert "This link has already been used or has expired" in Client().get(link).content.decode()


def test_an_unknown_address_gets_the_same_page_without_a_mail(client, sends_mail):
    pages = [
        client.post(reverse("account_reset_password"), {"email": email}, follow=True).content
        for email in ("ada@example.org", "eve@example.org")
    ]
    assert pages[0] == pages[1]
    assert [message.to for message in mail.outbox] == [["ada@example.org"]]


def test_a_new_password_does_not_bypass_the_second_step(client, sends_mail, researcher):
    client.force_login(researcher)
    switch_on(client)
    browser = Client()
    browser.post(reverse("account_reset_password"), {"email": "ada@example.org"})
    (link,) = re.findall(r"http://testserver(\S+)", mail.outbox[-1].body)
    reply = browser.get(link, follow=True)
    fields = {"password1": "a better horse", "password2": "a better horse"}
    browser.post(reply.redirect_chain[-1][0], fields)
    reply = browser.post(reverse("login"), RIGHT | {"password": "a better horse"})
    assert reply["Location"] == reverse("mfa_authenticate")


def test_a_server_without_mail_refers_to_an_administrator(client, db):
    page = client.get(reverse("account_reset_password")).content.decode()
    assert "ask a server administrator" in page
    assert 'name="email"' not in page


def test_sign_up_needs_an_invitation(client, db):
    assert "need an invitation" in client.get(reverse("account_signup")).content.decode()
    assert client.post(reverse("account_signup"), {"username": "eve"}).status_code == 405
