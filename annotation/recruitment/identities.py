"""Who somebody is at their platform: a keyed hash for ever, and a ciphertext until they are paid.

The hash bars a person from a second turn at a task, also after withdrawal and purge. The id itself
is stored only encrypted (Fernet), shown only to people who pay, and deleted by `purge`.
"""

import base64
import hashlib
import hmac
import re
import unicodedata
from collections.abc import Callable

from cryptography.fernet import Fernet, InvalidToken
from django.conf import settings
from django.db import transaction
from django.db.models import F, Value
from django.db.models.functions import Concat

from annotation.models import LIVE, LedgerEntry, PaymentBatch, Study
from annotation.money import ledger

# Handful's own codes, and names of models: capital and small letters differ in these.
OUR_OWN = frozenset({"link", "personal", "simulated", "browser", "model"})


def worker_key(platform: str, identity: str) -> str:
    """The keyed hash that bars a person from a second turn at a task, also after every purge.

    Ids of platforms are typed, pasted and put into addresses by programs: however they are spelt
    (blanks around, capitals, full-width digits), it is the same person.
    """
    if platform not in OUR_OWN:
        identity = unicodedata.normalize("NFKC", identity).strip().casefold()
    message = f"{platform}\0{identity}".encode()
    return hmac.new(settings.WORKER_KEY.encode(), message, hashlib.sha256).hexdigest()


def _cipher() -> Fernet:
    digest = hashlib.sha256(settings.IDENTITY_KEY.encode()).digest()
    return Fernet(base64.urlsafe_b64encode(digest))


def encrypt(text: str) -> str:
    """Encrypt an id for storage; nothing stays nothing."""
    return _cipher().encrypt(text.encode()).decode() if text else ""


class LostKey(ValueError):
    """An id that was stored under another IDENTITY_KEY; the text is for people."""


def decrypt(ciphertext: str) -> str:
    """The id again, "" where it was purged. Raises LostKey under another IDENTITY_KEY."""
    if not ciphertext:
        return ""
    try:
        return _cipher().decrypt(ciphertext.encode()).decode()
    except InvalidToken:
        raise LostKey(
            "An id cannot be decrypted: IDENTITY_KEY is not the one that it was stored with."
        ) from None


def is_lost(ciphertext: str) -> bool:
    """Was this id stored with another IDENTITY_KEY, so that it cannot be decrypted?"""
    try:
        decrypt(ciphertext)
    except LostKey:
        return True
    return False


SHORTEST_SOUGHT = 6  # characters: shorter ids stand in texts by chance


def without_ids(study: Study) -> Callable[[str], str]:
    """What puts "[id]" where a text has a platform's id or a personal link's name of the study.

    For texts that people wrote. Ids that were purged are not known any more, and very short ones
    are left alone. Raises LostKey under another IDENTITY_KEY.
    """
    links = set(study.personal_links.values_list("name", "code").iterator())
    known = {text for pair in links for text in pair}
    for pair in study.submissions.values_list("person", "reference").iterator():
        known.update(decrypt(ciphertext) for ciphertext in pair)
    sought = sorted((text for text in known if len(text) >= SHORTEST_SOUGHT), key=len, reverse=True)
    if not sought:
        return str
    pattern = re.compile("|".join(map(re.escape, sought)), re.IGNORECASE)
    return lambda text: pattern.sub("[id]", text)


class PurgeError(Exception):
    """Why the identities of a study are still needed; the text is for people."""


def purge(study: Study) -> int:
    """Delete the ids of everybody in a study; return how many.

    Raises PurgeError while somebody is at work or something earned is not paid.
    """
    with transaction.atomic():
        study = Study.objects.locked().get(pk=study.pk)
        ledger.settle_ended(study)
        people = study.participations.filter(kind="person")
        if people.filter(status__in=LIVE).exists():
            raise PurgeError("Somebody is still working: close the study and wait for them.")
        owed = LedgerEntry.objects.filter(participation__in=people.filter(is_paid=True))
        if owed.exclude(payment__batch__state=PaymentBatch.State.PAID).exists():
            raise PurgeError(
                "Not everybody has been paid yet: pay first, or mark the payments as paid."
            )
        known = study.submissions.exclude(person="", reference="")
        count = known.update(person="", reference="")
        links = study.personal_links.exclude(name__startswith="purged-")
        return count + links.update(name=Concat(Value("purged-"), F("pk")))
