"""How often one address may press Start: so that nobody takes all seats of a study in a second.

An address is kept for a minute, as a salted hash, in the cache that all processes share.
"""

from django.conf import settings
from django.core.cache import cache
from django.utils.crypto import salted_hmac

WINDOW = 60  # seconds


def admit(address: str) -> bool:
    """Count a Start from that address; False where it had its share of the last minute.

    The share is settings.STARTS_PER_MINUTE. Each Start takes one of as many places, which is free
    again a minute later; the cache adds a key only once, also when two processes ask at once.
    """
    name = _name(address)
    places = [f"start:{name}:{number}" for number in range(settings.STARTS_PER_MINUTE)]
    taken = cache.get_many(places)
    return any(cache.add(place, 1, WINDOW) for place in places if place not in taken)


def _name(address: str) -> str:
    """The salted hash of an address."""
    return salted_hmac(
        "annotation.pages.worker.start_limit", address, algorithm="sha256"
    ).hexdigest()
