"""Workers' identities: a permanent keyed hash, and an encrypted ID until payment.

The hash prevents a person from repeating a task, even after withdrawal and purge. The ID is stored
only in encrypted form (Fernet), shown only to payers, and deleted by privacy/erasure.py.
"""

import base64
import hashlib
import hmac
import re
import unicodedata
from collections.abc import Callable

from cryptography.fernet import Fernet, InvalidToken
from django.conf import settings

from annotation.models import Study
from annotation.recruitment.platform_adapters import ADAPTERS


def worker_key(platform: str, identity: str) -> str:
    """Return the keyed hash that prevents a person from repeating a task, even after a purge.

    IDs are typed, pasted or inserted by programs, so variants in spelling (surrounding spaces,
    case, full-width digits) result in the same hash.
    """
    raw = platform == "browser" or any(d.own_codes and d.platform == platform for d in ADAPTERS)
    if not raw:
        identity = unicodedata.normalize("NFKC", identity).strip().casefold()
    message = f"{platform}\0{identity}".encode()
    return hmac.new(settings.WORKER_KEY.encode(), message, hashlib.sha256).hexdigest()


def _cipher() -> Fernet:
    digest = hashlib.sha256(settings.IDENTITY_KEY.encode()).digest()
    return Fernet(base64.urlsafe_b64encode(digest))


def encrypt(text: str) -> str:
    """Encrypt an ID for storage. Returns "" for ""."""
    return _cipher().encrypt(text.encode()).decode() if text else ""


class LostKey(ValueError):
    """Raised if an ID was stored with a different IDENTITY_KEY. The message is shown to users."""


def decrypt(ciphertext: str) -> str:
    """Return the ID, or "" if it was purged. Raises LostKey if IDENTITY_KEY is different."""
    if not ciphertext:
        return ""
    try:
        return _cipher().decrypt(ciphertext.encode()).decode()
    except InvalidToken:
        raise LostKey(
            "An id cannot be decrypted: IDENTITY_KEY is not the key it was stored with."
        ) from None


def is_lost(ciphertext: str) -> bool:
    try:
        decrypt(ciphertext)
    except LostKey:
        return True
    return False


SHORTEST_SOUGHT = 6  # characters; shorter IDs could match text by chance


def without_ids(study: Study) -> Callable[[str], str]:
    """Return a function that replaces the study's IDs and personal link names with "[id]".

    Apply it to text written by people. It can't find purged IDs, and skips very short ones. Raises
    LostKey if IDENTITY_KEY is different.
    """
    links = set(study.personal_links.values_list("name", "code").iterator())
    ids = {text for pair in links for text in pair}
    for pair in study.submissions.values_list("person", "reference").iterator():
        ids.update(decrypt(ciphertext) for ciphertext in pair)
    sought = sorted((text for text in ids if len(text) >= SHORTEST_SOUGHT), key=len, reverse=True)
    if not sought:
        return str
    pattern = re.compile("|".join(map(re.escape, sought)), re.IGNORECASE)
    return lambda text: pattern.sub("[id]", text)
