"""Limits on signing in: django-allauth counts failed attempts in the cache of all processes.

A refused attempt is not counted, so it prolongs nothing, and a right password is never one:

- a name at one address: eight wrong passwords in 15 minutes;
- an address, whatever the names: five times as many;
- a name, wherever from: never locked, since anybody could lock a researcher out so, but at most 30
  wrong passwords in a minute.

The numbers are ACCOUNT_RATE_LIMITS; the second factor has the first limit for itself.
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

from annotation.pages.qr import svg
from annotation.recruitment import identities
from annotation.recruitment.start_limit import client_address

# The longest that somebody waits: the windows of "login_failed" and of "login_failed_name".
OF_ADDRESS, OF_NAME = timedelta(minutes=15), timedelta(minutes=1)
log = logging.getLogger("handful.sign_in")

# A hash takes 100 MB and a processor: two at once in each process, and one more may wait. Whoever
# comes then is sent away, as a thread that waits is one less for annotators.
_HASHING = threading.BoundedSemaphore(2)
_HASHING_OR_WAITING = threading.BoundedSemaphore(3)


class TooManyAttempts(Exception):
    """A sign-in that is refused before the password is looked at; it may be tried again later."""

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
    """Argon2 as Django has it, a few at a time. Raises TooManyAttempts."""

    def encode(self, password: str, salt: str) -> str:
        with _turn_to_hash():
            return super().encode(password, salt)

    def verify(self, password: str, encoded: str) -> bool:
        with _turn_to_hash():
            return super().verify(password, encoded)


class Accounts(DefaultAccountAdapter):
    """What allauth does our way: limits, the client's address, mail, where pages lead."""

    def pre_authenticate(self, request: HttpRequest, **credentials: Any) -> None:
        """Count an attempt, until it was right. Raises TooManyAttempts."""
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
        """The user of that name and password, or None. Raises TooManyAttempts."""
        try:
            return super().authenticate(request, **credentials)
        except TooManyAttempts:  # the password was not looked at
            self._rollback_login_failed_rl_usage()
            raise

    def _get_login_attempts_cache_key(self, request: HttpRequest, **credentials: Any) -> str:
        # By name and address: a stranger's attempts lock nobody else out.
        return f"{credentials.get('username', '').lower()}\0{self.get_client_ip(request)}"

    def get_client_ip(self, request: HttpRequest) -> str:
        """A salted hash: attempts are counted by address, and no address is stored."""
        address = client_address(request) or ""
        return salted_hmac("config.sign_in", address, algorithm="sha256").hexdigest()

    def is_open_for_signup(self, request: HttpRequest) -> bool:
        """Never: accounts are made by the first visit, by invitation, or in the admin."""
        return False

    def is_safe_url(self, url: str | None) -> bool:
        """Is it an address of this server? What cannot be parsed is none."""
        try:
            return bool(super().is_safe_url(url))
        except ValueError:
            return False

    def get_password_change_redirect_url(self, request: HttpRequest) -> str:
        return reverse("studies")

    def send_mail(self, template_prefix: str, email: str, context: dict[str, Any]) -> None:
        """A mail server that is away is noted; the page says the same as ever."""
        try:
            super().send_mail(template_prefix, email, context)
        except (OSError, SMTPException) as error:
            log.error("A mail was not sent (%s): %s", template_prefix, error)


class TwoFactor(DefaultMFAAdapter):
    """Secrets are stored under IDENTITY_KEY, which is kept apart from the database."""

    def encrypt(self, text: str) -> str:
        return identities.encrypt(text)

    def decrypt(self, encrypted_text: str) -> str:
        """Raises identities.LostKey under another IDENTITY_KEY."""
        return identities.decrypt(encrypted_text)

    def get_totp_label(self, user: AbstractBaseUser) -> str:
        return user.get_username()

    def build_totp_svg(self, url: str) -> str:
        return svg(url)
