"""Whose request it is, as far as an address can tell: for limits, never to be kept of annotators.

Anybody can write an X-Forwarded-For. Each proxy of ours adds the address that it was called from at
the right end, so exactly as many entries are believed, from the right, as `TRUSTED_PROXIES` says.
"""

import ipaddress

from django.conf import settings
from django.http import HttpRequest


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
