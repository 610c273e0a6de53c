"""Prolific's published keys: kept with the study, so that no arrival has to wait for Prolific.

They are fetched when a signed study is created and with every `sync_prolific`.
"""

from typing import Any

import jwt


class UnknownKey(Exception):
    """The token names a key that was not there when the keys were last fetched."""


def signing_key(token: str, published: dict[str, Any]) -> Any:
    """The public key that this token names. Raises jwt.PyJWTError, UnknownKey."""
    wanted = jwt.get_unverified_header(token).get("kid")
    for key in published.get("keys", []):
        if isinstance(key, dict) and key.get("kid") == wanted:
            return jwt.PyJWK(key).key
    raise UnknownKey(str(wanted))
