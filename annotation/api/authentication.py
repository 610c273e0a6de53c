"""Who asks, by the token in the Authorization header, and how often. Passwords open nothing.

Requests are counted in the cache that all processes share; those of annotators by each process for
itself: an answer waits for no count in the database.
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
from annotation.models.api_token import digest

SCHEME = "Bearer"


def bearer(request: Request | HttpRequest) -> str | None:
    """The token of the header, "" for one that is none; None without the header."""
    scheme, _, given = get_authorization_header(request).partition(b" ")
    if scheme.decode("latin-1").lower() != SCHEME.lower():
        return None
    return given.decode("ascii", "ignore").strip()


def has_token(request: HttpRequest) -> bool:
    """Does a researcher's token in the header hold? Asked before a body is read."""
    given = bearer(request)
    return given is not None and ApiToken.objects.valid().filter(digest=digest(given)).exists()


class TokenAuthentication(BaseAuthentication):
    """`Authorization: Bearer handful_...`; in no address, as addresses are written to logs."""

    def authenticate(self, request: Request) -> tuple[User, ApiToken] | None:
        """The owner and the token, or None where no token is given; AuthenticationFailed."""
        given = bearer(request)
        if given is None:
            return None
        try:
            token = ApiToken.objects.of(given)
        except ApiToken.DoesNotExist:
            raise AuthenticationFailed(
                "This token is unknown, revoked or expired. Make another one under API tokens."
            ) from None
        token.note_use()
        return token.owner, token

    def authenticate_header(self, request: Request) -> str:
        return SCHEME


class ParticipationToken(BaseAuthentication):
    """The secret of one participation, that of its personal link: `request.auth` is it.

    It is looked up by the step, which locks the participation by it: an unknown one gets 401 there.
    """

    def authenticate(self, request: Request) -> tuple[AnonymousUser, str] | None:
        given = bearer(request)
        return None if given is None else (AnonymousUser(), given)

    def authenticate_header(self, request: Request) -> str:
        return SCHEME


class HoldsParticipation(BasePermission):
    """Somebody who sends a participation's token; no researcher and no visitor is asked for."""

    def has_permission(self, request: Request, view: Any) -> bool:
        return isinstance(request.auth, str)


class Documented(OpenApiAuthenticationExtension):
    """The same for the OpenAPI document."""

    target_class = TokenAuthentication
    name = "token"

    def get_security_definition(self, auto_schema: Any) -> dict[str, str]:
        return {
            "type": "http",
            "scheme": "bearer",
            "description": "A token from the page API tokens.",
        }


class DocumentedParticipation(OpenApiAuthenticationExtension):
    """The same of a participation's token."""

    target_class = ParticipationToken
    name = "participation"

    def get_security_definition(self, auto_schema: Any) -> dict[str, str]:
        return {
            "type": "http",
            "scheme": "bearer",
            "description": "The token of one participation, from POST /api/v1/join/CODE/.",
        }


class PerHolder(SimpleRateThrottle):
    """100 requests a minute for each token, and for each researcher who asks from the browser."""

    rate = "100/min"

    @property
    def cache(self) -> BaseCache:
        return cache

    def get_cache_key(self, request: Request, view: Any) -> str:
        if isinstance(request.auth, ApiToken):
            return f"api:token:{request.auth.pk}"
        return f"api:user:{request.user.pk}"


class PerParticipation(BaseThrottle):
    """3000 requests in a minute of the clock for each participation, in each process.

    A fast model answers within milliseconds; a loop that has lost its way is stopped.
    """

    limit, window = 3000, 60  # requests; seconds

    def allow_request(self, request: Request, view: Any) -> bool:
        holder = hashlib.sha256(str(request.auth).encode()).hexdigest()
        key = f"api:work:{holder}:{int(time.time() // self.window)}"
        own_cache = caches["process"]
        own_cache.add(key, 0, self.window)
        try:
            return own_cache.incr(key) <= self.limit
        except ValueError:  # it ran out, or made place for another, in between: a new count begins
            return True

    def wait(self) -> float:
        return self.window - time.time() % self.window
