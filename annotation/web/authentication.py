"""Token authentication with the Authorization header, and rate limits.

Requests by researchers are counted in the cache shared by all processes. Requests by participants
are counted in each process, so that an answer never waits for a count in the database.
"""

import hashlib
import time
from typing import Any

from django.contrib.auth.models import AnonymousUser, User
from django.core.cache import cache, caches
from django.core.cache.backends.base import BaseCache
from django.http import HttpRequest
from drf_spectacular.extensions import OpenApiAuthenticationExtension
from rest_framework.authentication import BaseAuthentication, get_authorization_header
from rest_framework.exceptions import AuthenticationFailed
from rest_framework.permissions import BasePermission
from rest_framework.request import Request
from rest_framework.throttling import BaseThrottle, SimpleRateThrottle

from annotation.models import ApiToken
from annotation.models.accounts import digest

SCHEME = "Bearer"


def bearer(request: Request | HttpRequest) -> str | None:
    """Return the token in the header, "" if it is malformed, or None without a header."""
    scheme, _, given = get_authorization_header(request).partition(b" ")
    if scheme.decode("latin-1").lower() != SCHEME.lower():
        return None
    return given.decode("ascii", "ignore").strip()


def has_token(request: HttpRequest) -> bool:
    """Return whether the header contains a researcher's valid token, before reading the body."""
    given = bearer(request)
    return given is not None and ApiToken.objects.valid().filter(digest=digest(given)).exists()


class TokenAuthentication(BaseAuthentication):
    """Authenticates `Authorization: Bearer handful_...`. Tokens in URLs would be logged."""

    def authenticate(self, request: Request) -> tuple[User, ApiToken] | None:
        """Return the owner and the token, or None without a token. Raises AuthenticationFailed."""
        given = bearer(request)
        if given is None:
            return None
        try:
            token = ApiToken.objects.of(given)
        except ApiToken.DoesNotExist:
            raise AuthenticationFailed(
                "This token is unknown, revoked or expired. Create one under API tokens."
            ) from None
        token.note_use()
        return token.owner, token

    def authenticate_header(self, request: Request) -> str:
        return SCHEME


class ParticipationToken(BaseAuthentication):
    """Stores the secret of a personal link in `request.auth`.

    The step looks it up when it locks the participation, and returns 401 if it is unknown.
    """

    def authenticate(self, request: Request) -> tuple[AnonymousUser, str] | None:
        given = bearer(request)
        return None if given is None else (AnonymousUser(), given)

    def authenticate_header(self, request: Request) -> str:
        return SCHEME


class HoldsParticipation(BasePermission):
    def has_permission(self, request: Request, view: Any) -> bool:
        return isinstance(request.auth, str)


class Documented(OpenApiAuthenticationExtension):
    target_class: Any = TokenAuthentication
    name = "token"
    description = "A token from API tokens on the page Your account."

    def get_security_definition(self, auto_schema: Any) -> dict[str, str]:
        return {"type": "http", "scheme": "bearer", "description": self.description}


class DocumentedParticipation(Documented):
    target_class = ParticipationToken
    name = "participation"
    description = "The token of one participation, from POST /api/v1/join/CODE/."


class PerHolder(SimpleRateThrottle):
    """Allows 100 requests a minute for each API token and for each signed-in researcher."""

    rate = "100/min"

    @property
    def cache(self) -> BaseCache:
        return cache

    def get_cache_key(self, request: Request, view: Any) -> str:
        if isinstance(request.auth, ApiToken):
            return f"api:token:{request.auth.pk}"
        return f"api:user:{request.user.pk}"


class PerParticipation(BaseThrottle):
    """Allows 3000 requests per participation and clock minute, in each process.

    A fast model answers within milliseconds. The limit stops programs in an endless loop.
    """

    limit, window = 3000, 60  # requests; seconds

    def allow_request(self, request: Request, view: Any) -> bool:
        holder = hashlib.sha256(str(request.auth).encode()).hexdigest()
        key = f"api:work:{holder}:{int(time.time() // self.window)}"
        own_cache = caches["process"]
        own_cache.add(key, 0, self.window)
        try:
            return own_cache.incr(key) <= self.limit
        except ValueError:  # the count has expired or was evicted
            return True

    def wait(self) -> float:
        return self.window - time.time() % self.window
