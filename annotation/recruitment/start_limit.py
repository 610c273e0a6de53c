"""How often one address may press Start: so that one client does not take all seats of a study.

An address is kept as a salted hash, in the cache that all processes share: for a minute, and for an
hour where it started by the open link of a study. Anybody can write an X-Forwarded-For. Each proxy
of ours adds the address that it was called from at the right end, so exactly as many entries are
believed, from the right, as `TRUSTED_PROXIES` says.
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


def client_address(request: HttpRequest) -> str | None:
    """The address that the outermost trusted proxy was called from; None where there is none.

    Of an IPv6 address the first 64 bits, as one client has all the rest: "2001:db8:1:2::".
    """
    sender = request.META.get("REMOTE_ADDR", "")
    entries = [part.strip() for part in request.META.get("HTTP_X_FORWARDED_FOR", "").split(",")]
    hops = settings.TRUSTED_PROXIES
    # Fewer entries than proxies: the request came past them, so it speaks for itself alone.
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
