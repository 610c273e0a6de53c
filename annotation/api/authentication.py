"""Who asks: the researcher whose token is in the Authorization header. Passwords open nothing."""

from typing import Any

from django.contrib.auth.models import User
from drf_spectacular.extensions import OpenApiAuthenticationExtension
from rest_framework.authentication import BaseAuthentication, get_authorization_header
from rest_framework.exceptions import AuthenticationFailed
from rest_framework.request import Request

from annotation.models import ApiToken

SCHEME = "Bearer"


class TokenAuthentication(BaseAuthentication):
    """`Authorization: Bearer handful_...`; in no address, as addresses are written to logs."""

    def authenticate(self, request: Request) -> tuple[User, ApiToken] | None:
        """The owner and the token, or None where no token is given; AuthenticationFailed."""
        scheme, _, given = get_authorization_header(request).partition(b" ")
        if scheme.decode("latin-1").lower() != SCHEME.lower():
            return None
        try:
            token = ApiToken.objects.of(given.decode("ascii").strip())
        except (UnicodeDecodeError, ApiToken.DoesNotExist):
            raise AuthenticationFailed(
                "This token is unknown, revoked or expired. Make another one under API tokens."
            ) from None
        token.note_use()
        return token.owner, token

    def authenticate_header(self, request: Request) -> str:
        return SCHEME


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
