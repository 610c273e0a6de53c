"""Prolific's published keys, fetched at most once a day, and once more for an unknown key."""

from functools import lru_cache
from typing import Any

import jwt
from django.conf import settings

A_DAY = 24 * 3600  # seconds


@lru_cache(maxsize=4)
def _client(url: str) -> jwt.PyJWKClient:
    # It asks again for a key id that it does not know, so a new key is found at once.
    return jwt.PyJWKClient(url, cache_jwk_set=True, lifespan=A_DAY, timeout=10)


def signing_key(token: str) -> Any:
    """The public key that this token names. Raises jwt.PyJWTError where there is none."""
    url = f"{settings.PROLIFIC_URL}/.well-known/study/jwks.json"
    return _client(url).get_signing_key_from_jwt(token).key
