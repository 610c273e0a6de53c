"""Rate limit of Start by address, so that one client cannot take all seats of a study.

Addresses are stored as salted hashes in the cache that all processes share: for a minute, and for
an hour after a Start by a study's open link. X-Forwarded-For can be forged. Each of our proxies
appends the address of its caller, so only the last `TRUSTED_PROXIES` entries are trusted.
"""

import ipaddress

from django.conf import settings
from django.core.cache import cache
from django.db.models import Sum
from django.http import HttpRequest
from django.utils.crypto import salted_hmac

from annotation.models import Study

WINDOW = 60  # seconds
HOUR = 3600


def admit(address: str) -> bool:
    """Count a Start from that address; False if it exceeds the limit of the last minute.

    The limit is settings.STARTS_PER_MINUTE.
    """
    return _take(f"start:{_name(address)}", settings.STARTS_PER_MINUTE, WINDOW)


def admit_to(study: Study, address: str) -> bool:
    """Count a Start by the study's open link; False if the address exceeds its limit this hour.

    The limit is a tenth of the seats, and at least settings.STARTS_PER_HOUR (0: no limit). Consent
    does not reset it. A switch of the study lifts it, for a class that shares an address.
    """
    least = settings.STARTS_PER_HOUR
    if study.shared_address or not least:
        return True
    seats = study.scenarios.aggregate(n=Sum("seats", default=0))["n"]
    return _take(f"start:{study.pk}:{_name(address)}", max(least, seats // 10), HOUR)


def _take(name: str, number: int, seconds: int) -> bool:
    """Take one of `number` places, each free again after that time; False if none is left.

    The cache adds a key only once, even for concurrent requests.
    """
    places = [f"{name}:{place}" for place in range(number)]
    taken = cache.get_many(places)
    return any(cache.add(place, 1, seconds) for place in places if place not in taken)


def _name(address: str) -> str:
    """Return the salted hash of an address."""
    return salted_hmac("annotation.start_limit", address, algorithm="sha256").hexdigest()


def client_address(request: HttpRequest) -> str | None:
    """Return the address that called the outermost trusted proxy; None if there is none.

    IPv6 addresses are cut to 64 bits, since one client has all the rest: "2001:db8:1:2::".
    """
    sender = request.META.get("REMOTE_ADDR", "")
    entries = [part.strip() for part in request.META.get("HTTP_X_FORWARDED_FOR", "").split(",")]
    hops = settings.TRUSTED_PROXIES
    # Fewer entries than proxies: the request bypassed them, so use its direct address.
    if 0 < hops <= len(entries):
        return _normalised(entries[-hops]) or _normalised(sender)
    return _normalised(sender)


def _normalised(text: str) -> str | None:
    try:
        address = ipaddress.ip_address(text)
    except ValueError:
        return None
    if isinstance(address, ipaddress.IPv6Address):
        if address.ipv4_mapped is not None:
            return str(address.ipv4_mapped)
        return str(ipaddress.ip_network((address, 64), strict=False).network_address)
    return str(address)
