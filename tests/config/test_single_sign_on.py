"""Researchers can sign in through an OpenID Connect provider, here one on this machine."""

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import SimpleNamespace
from urllib.parse import parse_qs, urlsplit

import jwt
import pytest
from allauth.account.models import EmailAddress
from allauth.mfa.totp.internal.auth import TOTP
from allauth.socialaccount.models import SocialAccount, SocialToken
from django.contrib.auth.models import User

from annotation.accounts import closing
from annotation.models import AuditEntry
from config.checks import single_sign_on

pytestmark = pytest.mark.django_db

ADA = {"sub": "42", "email": "ada@uni.example", "email_verified": True, "picture": "a portrait"}


@pytest.fixture
def provider(settings):
    """A provider that signs in every user as `provider.person`."""
    state = SimpleNamespace(person=dict(ADA))

    class Handler(BaseHTTPRequestHandler):
        def reply(self, body: dict) -> None:
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.end_headers()
            self.wfile.write(json.dumps(body).encode())

        def do_GET(self) -> None:
            if self.path.endswith("openid-configuration"):
                names = ("authorization", "token", "userinfo")
                pages = {f"{name}_endpoint": f"{state.url}/{name}" for name in names}
                self.reply({"issuer": state.url, "jwks_uri": f"{state.url}/keys", **pages})
            else:
                self.reply(state.person)

        def do_POST(self) -> None:
            sent = parse_qs(self.rfile.read(int(self.headers["Content-Length"])).decode())
            assert sent["code"] == ["the code"]
            assert sent["code_verifier"]
            claims = {"iss": state.url, "aud": "handful", "exp": 2**32, "iat": 0, **state.person}
            self.reply({
                "access_token": "secret", "token_type": "Bearer",
                "id_token": jwt.encode(claims, "k" * 32, "HS256"),
            })  # fmt: skip

        def log_message(self, *_args) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    state.url = f"http://127.0.0.1:{server.server_port}"
    threading.Thread(target=server.serve_forever, daemon=True).start()
    app = settings.OIDC_APP | {"client_id": "handful", "settings": {"server_url": state.url}}
    settings.SOCIALACCOUNT_PROVIDERS = {
        "openid_connect": {"OAUTH_PKCE_ENABLED": True, "APPS": [app]}
    }
    settings.OIDC_NAME, settings.OIDC_DOMAINS = "Example University", ["uni.example"]
    settings.OIDC_URL = state.url
    yield state
    server.shutdown()


def sign_in(client, **fields):
    """Press the button, accept at the provider, and follow to the last page."""
    sent = client.post("/sign-in/oidc/", fields)
    assert sent.status_code == 302, sent.content
    asked = parse_qs(urlsplit(sent["Location"]).query)
    assert asked["redirect_uri"] == ["http://testserver/sign-in/oidc/callback/"]
    reply = {"code": "the code", "state": asked["state"][0]}
    return client.get("/sign-in/oidc/callback/", reply, follow=True)


def test_confirmed_address_at_a_listed_domain_gets_an_account(client, provider, researcher):
    page = client.get("/sign-in/").content.decode()
    assert "Sign in with Example University" in page
    reply = sign_in(client, next="/tasks/")
    assert (reply.status_code, reply.request["PATH_INFO"]) == (200, "/tasks/")
    ada = User.objects.get(email="ada@uni.example")
    assert reply.wsgi_request.user == ada
    assert not ada.is_superuser
    assert not ada.has_usable_password()
    assert AuditEntry.objects.filter(by=ada, what__contains="Example University").exists()
    # Neither the provider's data about the user nor its tokens are stored.
    assert SocialAccount.objects.get().extra_data == {}
    assert not SocialToken.objects.exists()
    assert not EmailAddress.objects.exists()


def test_the_subject_is_the_account_whatever_the_address(client, provider, researcher):
    first = sign_in(client).wsgi_request.user
    client.logout()
    provider.person |= {"email": "ada.l@other.example", "email_verified": False}
    assert sign_in(client).wsgi_request.user == first
    assert SocialAccount.objects.get().extra_data == {}
    client.logout()
    provider.person = ADA | {"sub": "43", "email": "eve@uni.example"}
    assert sign_in(client).wsgi_request.user not in (first, researcher)


@pytest.mark.parametrize(
    ("person", "reason"),
    [
        ({"email_verified": False}, "did not confirm your email address"),
        ({"email_verified": "false"}, "did not confirm your email address"),
        ({"email": ""}, "did not confirm your email address"),
        ({"email": "ada@uni.example.org"}, "your address does not qualify for one"),
        ({"email": "ada@evil.example"}, "your address does not qualify for one"),
        ({"email": "taken@uni.example"}, "An account with your email address exists."),
    ],
)
def test_other_people_get_no_account(client, provider, researcher, person, reason):
    User.objects.filter(pk=researcher.pk).update(email="Taken@uni.example")
    provider.person |= person
    reply = sign_in(client)
    assert reply.status_code == 403
    assert reason in reply.content.decode()
    assert not reply.wsgi_request.user.is_authenticated
    assert User.objects.count() == 1


def test_without_domains_no_account_is_created(client, provider, researcher, settings):
    settings.OIDC_DOMAINS = []
    assert sign_in(client).status_code == 403
    assert User.objects.count() == 1


def test_the_first_account_is_not_created_by_single_sign_on(client, provider):
    assert "how to create the first one" in sign_in(client).content.decode()
    assert not User.objects.exists()


def test_existing_account_is_connected_on_its_page(client, provider, researcher, settings):
    settings.OIDC_DOMAINS = []
    researcher.set_password("right horse")
    researcher.save()
    client.force_login(researcher)
    assert "Connect to Example University" in client.get("/account/").content.decode()
    reply = sign_in(client, process="connect")
    assert reply.request["PATH_INFO"] == "/account/confirm/"
    assert "secret" not in str(dict(client.session))
    assert not SocialAccount.objects.exists()
    reply = client.post("/account/confirm/", {"password": "right horse"}, follow=True)
    assert "You can sign in with Example University" in reply.content.decode()
    client.logout()
    assert sign_in(client).wsgi_request.user == researcher


def test_closed_account_stays_closed(client, provider, researcher):
    ada = sign_in(client).wsgi_request.user
    client.logout()
    User.objects.filter(pk=ada.pk).update(is_active=False)
    reply = sign_in(client)
    assert "This account is closed" in reply.content.decode()
    assert not reply.wsgi_request.user.is_authenticated


def test_deleted_account_is_forgotten(client, provider, researcher):
    ada = sign_in(client).wsgi_request.user
    closing.close(ada)
    closing.erase(User.objects.get(pk=ada.pk))
    assert not SocialAccount.objects.exists()


def test_cancelling_at_the_provider_is_refused(client, provider, researcher):
    sent = client.post("/sign-in/oidc/")
    state = parse_qs(urlsplit(sent["Location"]).query)["state"][0]
    reply = client.get("/sign-in/oidc/callback/", {"error": "access_denied", "state": state})
    assert reply.status_code == 403
    assert "cancelled" in reply.content.decode()


def test_foreign_state_is_refused(client, provider, researcher):
    reply = client.get("/sign-in/oidc/callback/", {"code": "the code", "state": "forged"})
    assert reply.status_code == 403
    assert User.objects.count() == 1


def test_account_without_a_password_can_set_one(client, provider, researcher):
    sign_in(client)
    page = client.get("/password/", follow=True)
    assert "Set a password" in page.content.decode()
    words = "correct horse battery"
    reply = client.post("/password/set/", {"password1": words, "password2": words})
    assert reply.status_code == 302
    assert User.objects.get(email="ada@uni.example").check_password(words)


def test_it_is_off_by_default_and_starts_by_post_only(client, researcher):
    assert "/sign-in/oidc/" not in client.get("/sign-in/").content.decode()
    assert client.post("/sign-in/oidc/").status_code == 404
    assert client.get("/sign-in/oidc/").status_code == 405


def checked() -> list[str]:
    return [message.id for message in single_sign_on()]


def test_check_asks_the_provider(provider, settings):
    settings.OIDC_ORIGINS = [provider.url]
    assert checked() == []
    settings.OIDC_ORIGINS = ["https://elsewhere.example"]
    assert checked() == ["config.E039"]
    settings.OIDC_URL = provider.url.replace("http://", "https://")
    assert checked() == ["config.E038"]
    settings.OIDC_URL = ""
    assert checked() == []


def test_a_new_password_disconnects_the_account(client, provider, researcher):
    ada = sign_in(client).wsgi_request.user
    ada.set_password("right horse")
    ada.save()
    client.force_login(ada)
    words = {"oldpassword": "right horse", "password1": "a long horse", "password2": "a long horse"}
    assert client.post("/password/", words).status_code == 302
    assert not SocialAccount.objects.exists()


def test_another_issuer_has_other_subjects(client, provider, researcher):
    first = sign_in(client).wsgi_request.user
    client.logout()
    SocialAccount.objects.update(provider="another issuer")
    provider.person |= {"email": "eve@uni.example"}
    assert sign_in(client).wsgi_request.user != first


@pytest.mark.parametrize(
    "person", [{"sub": None}, {"sub": ""}, {"sub": 7}, {"sub": "x" * 300}, {"given_name": 7}]
)
def test_claims_that_break_the_rules_are_refused(client, provider, researcher, person):
    provider.person |= person
    assert sign_in(client).status_code == 403
    assert User.objects.count() == 1


def test_reserved_name_from_the_provider_is_not_used(client, provider, researcher):
    provider.person["preferred_username"] = "deleted-1"
    assert not sign_in(client).wsgi_request.user.username.startswith("deleted-")
    client.logout()
    provider.person = ADA | {"sub": "43", "email": "deleted-2@uni.example"}
    assert not sign_in(client).wsgi_request.user.username.startswith("deleted-")


def test_provider_that_does_not_respond_is_named(client, provider, researcher, settings):
    app = settings.SOCIALACCOUNT_PROVIDERS["openid_connect"]["APPS"][0]
    app["settings"] = {"server_url": "http://127.0.0.1:9"}
    reply = client.post("/sign-in/oidc/")
    assert reply.status_code == 403
    assert "Example University did not respond as expected." in reply.content.decode()


def test_second_factor_is_asked_after_single_sign_on(client, provider, researcher):
    TOTP.activate(sign_in(client).wsgi_request.user, "secret")
    client.logout()
    reply = sign_in(client)
    assert reply.request["PATH_INFO"] == "/sign-in/code/"
    assert not reply.wsgi_request.user.is_authenticated


def test_account_without_a_password_sets_one_before_it_is_asked(client, provider, researcher):
    ada = sign_in(client).wsgi_request.user
    reply = client.get("/account/address/", follow=True)
    assert reply.request["PATH_INFO"] == "/password/set/"
    User.objects.filter(pk=ada.pk).update(is_superuser=True)
    sent = {"user": researcher.pk, "action": "admin"}
    assert client.post("/users/", sent)["Location"] == "/password/set/"
    User.objects.filter(pk=ada.pk).update(last_login="2026-01-01T00:00Z")
    reply = client.get("/password/set/", follow=True)
    assert "Sign out and sign in again" in reply.content.decode()
