"""Rate limits for sign-in. django-allauth counts failed attempts in the shared cache.

Rejected attempts (which would extend a lock) and correct passwords are not counted.

- Per user name and IP address: eight wrong passwords in 15 minutes.
- Per IP address, for all user names: 40 wrong passwords in 15 minutes.
- Per user name, from all IP addresses: 30 wrong passwords in a minute. A longer lock would allow
  anyone to lock a researcher out.

ACCOUNT_RATE_LIMITS sets these numbers. Second-factor codes have the first limit and are
counted separately.
"""

import logging
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from smtplib import SMTPException
from typing import Any

from allauth.account.adapter import DefaultAccountAdapter
from allauth.core.internal import ratelimit
from allauth.mfa.adapter import DefaultMFAAdapter
from django.contrib.auth.base_user import AbstractBaseUser
from django.contrib.auth.hashers import Argon2PasswordHasher
from django.core.exceptions import ValidationError
from django.http import HttpRequest
from django.urls import reverse
from django.utils.crypto import salted_hmac

from annotation.accounts.closing import DELETED
from annotation.recruitment import identities
from annotation.recruitment.visitors import client_address
from annotation.templatetags.frame import qr

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
