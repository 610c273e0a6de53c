"""Limits on signing in, the same for the pages and the admin.

django-axes keeps the failed attempts (15 minutes); here stands what follows from them. A refused
attempt is not recorded, so it prolongs nothing:

- a name at one address: eight wrong passwords, then nothing for a while;
- an address, whatever the names: the same at five times as many;
- a name, wherever from: never locked, since anybody could lock a researcher out so, but then at
  most one attempt in two seconds.
"""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

from axes.backends import AxesStandaloneBackend
from axes.handlers.proxy import AxesProxyHandler
from axes.models import AccessAttempt
from django.conf import settings
from django.contrib.auth.hashers import Argon2PasswordHasher
from django.core.exceptions import PermissionDenied
from django.db.models import Max, Q, Sum
from django.http import HttpRequest, HttpResponse
from django.utils import timezone

from config.kept_forms import sign_in_page

MAX_HERE = 8  # failures of a name at an address
MAX_OF_ADDRESS = 40
MAX_OF_NAME = 24
DELAY = timedelta(seconds=2)
LONGEST_NAME = 150  # characters, as Django stores them

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


def name_tried(request: HttpRequest, credentials: dict[str, Any] | None = None) -> str:
    """The name as it is stored with an attempt: what the database takes, whatever was typed."""
    name = (credentials or {}).get("username") or ""
    return name.replace("\0", " ")[:LONGEST_NAME]


class Limits(AxesStandaloneBackend):
    """Stands before the backend that looks at passwords."""

    def authenticate(
        self,
        request: HttpRequest,
        username: str | None = None,
        password: str | None = None,
        **kwargs: Any,
    ) -> None:
        """Raise TooManyAttempts, or PermissionDenied for a name that nobody can have."""
        AxesProxyHandler.update_request(request)
        address = request.axes_ip_address  # type: ignore[attr-defined]  # set by the line above
        wait = _wait(name_tried(request, {"username": username}), address)
        if wait > timedelta():
            raise TooManyAttempts(wait)
        if username is not None and ("\0" in username or len(username) > LONGEST_NAME):
            raise PermissionDenied


def _wait(name: str, address: str | None) -> timedelta:
    """How long this name at this address has to wait, by the attempts that failed lately."""
    now = timezone.now()
    by = {
        "here": Q(username=name, ip_address=address),
        "address": Q(ip_address=address),
        "name": Q(username=name),
    }
    attempts = AccessAttempt.objects.filter(
        by["address"] | by["name"], attempt_time__gt=now - settings.AXES_COOLOFF_TIME
    ).aggregate(
        **{who: Sum("failures_since_start", filter=rows, default=0) for who, rows in by.items()},
        **{f"{who}_last": Max("attempt_time", filter=rows) for who, rows in by.items()},
    )
    rules = [
        ("here", MAX_HERE, settings.AXES_COOLOFF_TIME),
        ("address", MAX_OF_ADDRESS, settings.AXES_COOLOFF_TIME),
        ("name", MAX_OF_NAME, DELAY),
    ]
    ends = [attempts[f"{who}_last"] + time for who, most, time in rules if attempts[who] >= most]
    return max(ends, default=now) - now


class RefusedSignIns:
    """Turns TooManyAttempts into 429: the page to sign in on."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]):
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        return self.get_response(request)

    def process_exception(self, request: HttpRequest, error: Exception) -> HttpResponse | None:
        if not isinstance(error, TooManyAttempts):
            return None
        minutes = -(-error.seconds // 60)
        response = sign_in_page(request, 429, seconds=error.seconds, minutes=minutes)
        response["Retry-After"] = str(error.seconds)
        return response
