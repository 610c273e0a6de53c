"""Token authentication with the Authorization header, and rate limits.

Researchers' requests are counted in a cache that all processes share. Each process counts the
participants' requests that it handles, so that no answer has to wait for the database.
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
    """Return whether the header contains a researcher's valid token. Does not read the body."""
    given = bearer(request)
    return given is not None and ApiToken.objects.valid().filter(digest=digest(given)).exists()


class TokenAuthentication(BaseAuthentication):
    """Reads the token only from the Authorization header, because URLs are logged."""

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
    """Stores a participant's token in `request.auth` without checking it.

    The step function looks it up when it locks the row. If it is unknown, the response is 401.
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
    description = "A token that you created under *API tokens* in your account."

    def get_security_definition(self, auto_schema: Any) -> dict[str, str]:
        return {"type": "http", "scheme": "bearer", "description": self.description}


class DocumentedParticipation(Documented):
    target_class = ParticipationToken
    name = "participation"
    description = "The token that POST /api/v1/join/CODE/ returned."


class PerHolder(SimpleRateThrottle):
    """Allows 100 requests per minute for each API token or signed-in researcher."""

    rate = "100/min"

    @property
    def cache(self) -> BaseCache:
        return cache

    def get_cache_key(self, request: Request, view: Any) -> str:
        if isinstance(request.auth, ApiToken):
            return f"api:token:{request.auth.pk}"
        return f"api:user:{request.user.pk}"


class PerParticipation(BaseThrottle):
    """Allows each participant 3000 requests per clock minute and process.

    This leaves room for fast models, which answer within milliseconds, but stops endless loops.
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
