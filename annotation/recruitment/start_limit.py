"""How often one address may press Start: so that one client does not take all seats of a study.

An address is kept as a salted hash, in the cache that all processes share: for a minute, and for an
hour where it started by the open link of a study.
"""

from django.conf import settings
from django.core.cache import cache
from django.db.models import Sum
from django.utils.crypto import salted_hmac

from annotation.models import Study

WINDOW = 60  # seconds
HOUR = 3600


def admit(address: str) -> bool:
    """Count a Start from that address; False where it had its share of the last minute.

    The share is settings.STARTS_PER_MINUTE.
    """
    return _take(f"start:{_name(address)}", settings.STARTS_PER_MINUTE, WINDOW)


def admit_to(study: Study, address: str) -> bool:
    """Count a Start by the open link of the study; False where the address had its share this hour.

    The share is a tenth of the seats, and at least settings.STARTS_PER_HOUR (0: no limit). Consent
    frees nothing of it. A switch of the study lifts it, for a class that shares an address.
    """
    least = settings.STARTS_PER_HOUR
    if study.shared_address or not least:
        return True
    seats = study.scenarios.aggregate(n=Sum("seats", default=0))["n"]
    return _take(f"start:{study.pk}:{_name(address)}", max(least, seats // 10), HOUR)


def _take(name: str, number: int, seconds: int) -> bool:
    """Take one of so many places, each free again after that time; False where none is left.

    The cache adds a key only once, also when two processes ask at once.
    """
    places = [f"{name}:{place}" for place in range(number)]
    taken = cache.get_many(places)
    return any(cache.add(place, 1, seconds) for place in places if place not in taken)


def _name(address: str) -> str:
    """The salted hash of an address."""
    return salted_hmac("annotation.start_limit", address, algorithm="sha256").hexdigest()
