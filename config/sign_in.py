"""Adapters of django-allauth: rate limits for sign-in, second factors and single sign-on.

allauth counts failed attempts in the shared cache (ACCOUNT_RATE_LIMITS in the settings). Rejected
attempts, which would extend a lock, and correct passwords are not counted. Second-factor codes have
the same limit as passwords, and are counted separately.

Single sign-on uses the institution's OpenID Connect provider (docs/operating.md#single-sign-on).
People are matched by the provider's subject, never by an email address. Without a match, an account
is created only for a confirmed address at one of OIDC_DOMAINS. Users connect an existing account on
*Your account*.
"""

import logging
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from functools import wraps
from smtplib import SMTPException
from typing import Any

from allauth.account.adapter import DefaultAccountAdapter
from allauth.account.models import EmailAddress
from allauth.core.exceptions import ImmediateHttpResponse
from allauth.core.internal import ratelimit
from allauth.mfa.adapter import DefaultMFAAdapter
from allauth.socialaccount.adapter import DefaultSocialAccountAdapter
from allauth.socialaccount.models import SocialAccount, SocialLogin
from allauth.socialaccount.providers.openid_connect import views
from allauth.socialaccount.signals import social_account_added
from django.conf import settings
from django.contrib.auth.base_user import AbstractBaseUser
from django.contrib.auth.hashers import Argon2PasswordHasher
from django.contrib.auth.models import User
from django.core.exceptions import ImproperlyConfigured, ValidationError
from django.dispatch import receiver
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils.crypto import salted_hmac
from django.views.decorators.http import require_POST
from requests import RequestException

from annotation.accounts.closing import DELETED
from annotation.models import AuditEntry, Topic
from annotation.recruitment import identities
from annotation.recruitment.visitors import client_address
from annotation.templatetags.frame import qr
from config.users import awaits_first_owner

# The longest waiting times, which equal the windows of "login_failed" and "login_failed_name".
OF_ADDRESS, OF_NAME = timedelta(minutes=15), timedelta(minutes=1)
log = logging.getLogger("handful.sign_in")

# A hash takes 100 MB and one CPU. Each process computes two at a time, and one more attempt may
# wait. Any others are rejected, because a waiting thread cannot serve annotators.
_HASHING = threading.BoundedSemaphore(2)
_HASHING_OR_WAITING = threading.BoundedSemaphore(3)


class TooManyAttempts(Exception):
    """Sign-in was rejected before the password was checked. The user may try again later."""

    def __init__(self, wait: timedelta):
        super().__init__("Too many attempts to sign in.")
        self.seconds = max(1, round(wait.total_seconds()))


@contextmanager
def _turn_to_hash() -> Iterator[None]:
    if not _HASHING_OR_WAITING.acquire(blocking=False):
        raise TooManyAttempts(timedelta(seconds=1))
    try:
        with _HASHING:
            yield
    finally:
        _HASHING_OR_WAITING.release()


class LimitedArgon2(Argon2PasswordHasher):
    """Django's Argon2 hasher, limited to two hashes at a time. Raises TooManyAttempts."""

    def encode(self, password: str, salt: str) -> str:
        with _turn_to_hash():
            return super().encode(password, salt)

    def verify(self, password: str, encoded: str) -> bool:
        with _turn_to_hash():
            return super().verify(password, encoded)


class Accounts(DefaultAccountAdapter):
    def pre_authenticate(self, request: HttpRequest, **credentials: Any) -> None:
        """Count an attempt, which a correct password later takes back. Raises TooManyAttempts."""
        try:
            super().pre_authenticate(request, **credentials)
        except ValidationError:
            raise TooManyAttempts(OF_ADDRESS) from None
        of_name = ratelimit.consume(
            request,
            app="allauth.account",
            action="login_failed_name",
            key=credentials.get("username", "").lower(),
        )
        if of_name is None:
            raise TooManyAttempts(OF_NAME)
        self._login_failed_rl_usage.usage += of_name.usage

    def authenticate(self, request: HttpRequest, **credentials: Any) -> Any:
        """Return the user with this name and password, or None. Raises TooManyAttempts."""
        try:
            return super().authenticate(request, **credentials)
        except TooManyAttempts:  # the password was not checked
            self._rollback_login_failed_rl_usage()
            raise

    def _get_login_attempts_cache_key(self, request: HttpRequest, **credentials: Any) -> str:
        # Include the IP address, so that failed attempts elsewhere do not lock the user out.
        return f"{credentials.get('username', '').lower()}\0{self.get_client_ip(request)}"

    def get_client_ip(self, request: HttpRequest) -> str:
        """Return a salted hash, so that attempts are counted per IP address without storing it."""
        address = client_address(request) or ""
        return salted_hmac("config.sign_in", address, algorithm="sha256").hexdigest()

    def clean_username(self, username: str, shallow: bool = False) -> str:
        """Reject names that are reserved for deleted accounts. Raises ValidationError."""
        if username.lower().startswith(DELETED):
            raise ValidationError("Choose another name. This form is for deleted accounts.")
        return str(super().clean_username(username, shallow))

    def is_open_for_signup(self, request: HttpRequest) -> bool:
        """Return False: accounts are created on the first visit, by invitation, or by an admin."""
        return False

    def is_safe_url(self, url: str | None) -> bool:
        try:
            return bool(super().is_safe_url(url))
        except ValueError:
            return False

    def get_password_change_redirect_url(self, request: HttpRequest) -> str:
        return reverse("studies")

    def send_mail(self, template_prefix: str, email: str, context: dict[str, Any]) -> None:
        """Send an email. Connection errors are logged but not shown on the page."""
        try:
            super().send_mail(template_prefix, email, context)
        except (OSError, SMTPException) as error:
            log.error("An email was not sent (%s): %s", template_prefix, error)


class TwoFactor(DefaultMFAAdapter):
    """allauth adapter that encrypts secrets with IDENTITY_KEY, which is not in the database."""

    def encrypt(self, text: str) -> str:
        return identities.encrypt(text)

    def decrypt(self, encrypted_text: str) -> str:
        """Decrypt a secret. Raises identities.LostKey if IDENTITY_KEY has changed."""
        return identities.decrypt(encrypted_text)

    def get_totp_label(self, user: AbstractBaseUser) -> str:
        return user.get_username()

    def build_totp_svg(self, url: str) -> str:
        return qr(url)


# Single sign-on -----------------------------------------------------------------------------------

# The provider does not respond, or its replies lack something that OpenID Connect requires.
FAILURES = (
    RequestException, ImproperlyConfigured, LookupError, TypeError, ValueError, AttributeError,
)  # fmt: skip
NO_ACCOUNT = "You have no account on this server yet, and "


class SingleSignOn(DefaultSocialAccountAdapter):
    def populate_user(self, request: HttpRequest, sociallogin: SocialLogin, data: Any) -> User:
        """Fill in the name and address. Nothing else that the provider sends is stored.

        Raises ValueError unless all replies have the same subject (OpenID Connect Core, 5.3.2).
        """
        replies = sociallogin.account.extra_data
        subjects = {part.get("sub") for part in replies.values()}
        if len(subjects) != 1 or not all(isinstance(sub, str) and sub for sub in subjects):
            raise ValueError("The provider's replies have no common subject.")
        sociallogin.account.extra_data = {}
        return super().populate_user(request, sociallogin, data)

    def pre_social_login(self, request: HttpRequest, sociallogin: SocialLogin) -> None:
        """Reject closed accounts. Raises ImmediateHttpResponse."""
        sociallogin.token = None  # don't keep it in the session while a password is confirmed
        if sociallogin.is_existing and not sociallogin.user.is_active:
            raise refused(request, "This account is closed. Ask an administrator to reopen it.")

    def is_open_for_signup(self, request: HttpRequest, sociallogin: SocialLogin) -> bool:
        """Return True if this person gets an account. Otherwise, raises ImmediateHttpResponse."""
        if reason := _refusal_reason(sociallogin):
            raise refused(request, reason)
        return True

    def save_user(self, request: HttpRequest, sociallogin: SocialLogin, form: Any = None) -> User:
        user = super().save_user(request, sociallogin, form)
        # The address is part of the account, and changes with it.
        EmailAddress.objects.filter(user=user).delete()
        action = f"account created by {settings.OIDC_NAME}"
        AuditEntry.objects.record(action, Topic.ACCOUNT, about=str(user), by=user)
        return user

    def get_connect_redirect_url(self, request: HttpRequest, socialaccount: SocialAccount) -> str:
        return reverse("your_account")

    def on_authentication_error(self, request: HttpRequest, *_args: Any, **_kwargs: Any) -> None:
        raise refused(request, "The sign-in was cancelled, or the provider reported an error.")


def _refusal_reason(sociallogin: SocialLogin) -> str:
    """Return why no account is created for this person, or "" if one may be."""
    address = next((row.email for row in sociallogin.email_addresses if row.verified is True), "")
    if awaits_first_owner():
        return "This server has no accounts yet. Its log says how to create the first one."
    if not address:
        return f"{NO_ACCOUNT}{settings.OIDC_NAME} did not confirm your email address."
    if address.rpartition("@")[2].lower() not in settings.OIDC_DOMAINS:
        return f"{NO_ACCOUNT}your address does not qualify for one. Ask for an invitation."
    if User.objects.filter(email__iexact=address).exists():
        return (
            "An account with your email address exists. Sign in with its password, then connect it"
            " under Your account."
        )
    return ""


def guarded(view: Callable[..., HttpResponse]) -> Callable[..., HttpResponse]:
    """Show a page instead of an error if the provider's response is missing or invalid."""

    @wraps(view)
    def answer(request: HttpRequest, provider_id: str) -> HttpResponse:
        try:
            return view(request, provider_id)
        except FAILURES:
            log.exception("Single sign-on failed")
            return refused(request, f"{settings.OIDC_NAME} did not respond as expected.").response

    return answer


oidc_login, oidc_callback = require_POST(guarded(views.login)), guarded(views.callback)


def refused(request: HttpRequest, reason: str) -> ImmediateHttpResponse:
    page = render(request, "account/sign_in_refused.html", {"reason": reason}, status=403)
    return ImmediateHttpResponse(page)


@receiver(social_account_added)
def _log_connection(sociallogin: SocialLogin, **_kwargs: Any) -> None:
    user = sociallogin.user
    action = f"account connected to {settings.OIDC_NAME}"
    AuditEntry.objects.record(action, Topic.ACCOUNT, about=str(user), by=user)
