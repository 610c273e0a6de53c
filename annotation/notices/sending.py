"""Sending webhooks: signed, retried at increasing intervals, and only to public addresses.

Signatures follow Standard Webhooks: HMAC-SHA256 over ID, time and body. Receivers check the
signature and the time, and accept each ID once. This module resolves the host name, checks the
address, and then connects to exactly that address. Redirects are not followed. As a result, neither
a redirect nor a changed DNS response can lead to a different address.
"""

import base64
import hashlib
import hmac
import ipaddress
import json
import logging
import re
import socket
import ssl
import time
from collections import deque
from contextlib import closing
from datetime import timedelta
from urllib.parse import SplitResult, urlsplit

from django.conf import settings
from django.db.models import F

from annotation.models import Delivery, Webhook
from annotation.recruitment import identities
from tasks.clock import database_now

logger = logging.getLogger(__name__)

TIMEOUT = 10  # seconds per delivery, from connecting to reading the status line of the response
RUN = 30  # seconds per run; the next run carries on
LONGEST_LINE = 1024  # bytes of a status line
# Intervals after failed attempts. After the last one, the delivery counts as failed.
GAPS = [timedelta(minutes=m) for m in (1, 5, 30, 120, 360, 720, 1440)]
CARRYING = [ipaddress.ip_network(text) for text in ("64:ff9b::/96", "64:ff9b:1::/48")]  # NAT64
# Special-purpose networks in IANA's registries that Python may consider global.
SPECIAL = [
    ipaddress.ip_network(text)
    for text in ("192.0.0.0/24", "192.88.99.0/24", "fec0::/10", "3fff::/20", "2620:4f:8000::/48")
]
DELIVERIES_PER_RUN = 200  # per webhook and run


class Refused(ValueError):
    """Requests must not be sent to this URL. The message is shown to users."""


def check_address(url: str) -> SplitResult:
    """Parse and validate the URL of a webhook without resolving its host. Raises Refused."""
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        raise Refused("This is not a valid URL.") from None
    if not parts.hostname or not url.isascii() or not url.isprintable() or " " in url:
        raise Refused("Enter a URL such as https://example.org/hook.")
    if parts.username is not None or parts.fragment or len(url) > 500:
        raise Refused("Enter a URL of up to 500 characters without a user name or #.")
    if _is_allowed(parts.hostname, port):
        if parts.scheme not in ("http", "https"):
            raise Refused("Enter a URL that starts with https:// or http://.")
    elif parts.scheme != "https":
        raise Refused("Enter a URL that starts with https://.")
    return parts


def _is_allowed(host: str, port: int | None) -> bool:
    return {host, f"{host}:{port}"} & set(settings.WEBHOOK_HOSTS) != set()


def place_of(parts: SplitResult) -> str:
    """Return the host's IP address. Raises OSError, or Refused if any is not public or allowed."""
    host = parts.hostname or ""
    port = parts.port or (443 if parts.scheme == "https" else 80)
    places = [str(row[4][0]) for row in socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)]
    if not _is_allowed(host, parts.port):
        for place in places:
            if not is_public(place):
                raise Refused(f"{host} resolves to {place}, which is not a public address.")
    return places[0]


def is_public(place: str) -> bool:
    """Return whether this is a public IP address, also checking IPv4 embedded in IPv6."""
    try:
        ip = ipaddress.ip_address(place.partition("%")[0])
    except ValueError:
        return False
    if isinstance(ip, ipaddress.IPv6Address):
        embedded = ip.ipv4_mapped or ip.sixtofour or (ip.teredo and ip.teredo[1])
        if embedded:
            return is_public(str(embedded))
        if any(ip in net for net in CARRYING):
            return is_public(str(ipaddress.IPv4Address(int(ip) & 0xFFFFFFFF)))
    if any(ip in net for net in SPECIAL):
        return False
    return ip.is_global and not ip.is_multicast and not ip.is_reserved


def signature(secret: str, identity: str, at: int, body: bytes) -> str:
    """Return the webhook-signature header: v1 and the base64-encoded HMAC."""
    key = base64.b64decode(secret.partition("_")[2])
    signed = f"{identity}.{at}.".encode() + body
    return "v1," + base64.b64encode(hmac.new(key, signed, hashlib.sha256).digest()).decode()


def send_due() -> int:
    """Send due deliveries for up to RUN seconds, taking webhooks in turn. Return how many arrived.

    After a failure, the webhook's other deliveries wait until it is retried. A slow or dead
    receiver therefore delays only its own deliveries.
    """
    deadline, arrived = time.monotonic() + RUN, 0
    # Queues of due deliveries by webhook, ending with failing webhooks.
    rows = Delivery.objects.filter(state=Delivery.State.WAITING, next_at__lte=database_now())
    queues = []
    for webhook in Webhook.objects.of_owners().filter(pk__in=rows.order_by().values("webhook")):
        first = rows.filter(webhook=webhook).select_related("webhook").order_by("pk")
        queues.append(deque(first[:DELIVERIES_PER_RUN]))
    turns = deque(sorted(filter(None, queues), key=lambda q: (q[0].attempts > 0, q[0].next_at)))
    while turns and time.monotonic() < deadline:
        queue = turns.popleft()
        delivery = queue.popleft()
        if send(delivery):
            arrived += 1
        elif _still_waits(delivery):
            continue
        if queue:
            turns.append(queue)
    return arrived


def _still_waits(delivery: Delivery) -> bool:
    """Return whether a delivery failed and will be retried. If so, delay the webhook's others."""
    now = Delivery.objects.filter(pk=delivery.pk, state=Delivery.State.WAITING).first()
    if now is None:
        return False
    waiting = Delivery.objects.filter(webhook=delivery.webhook_id, state=Delivery.State.WAITING)
    waiting.filter(next_at__lt=now.next_at).update(next_at=now.next_at)
    return True


def send(delivery: Delivery) -> bool:
    """Try to send a delivery, unless another process is sending it. Return whether it arrived.

    The attempt is counted, and the next one scheduled, before sending, so that the delivery is
    retried with the same ID if the process gets killed. The outcome is stored in the row.
    """
    now, attempts = database_now(), delivery.attempts
    gap = GAPS[min(attempts, len(GAPS) - 1)]
    claim = Delivery.objects.filter(
        pk=delivery.pk, state=Delivery.State.WAITING, attempts=attempts, next_at__lte=now
    )
    if not claim.update(attempts=F("attempts") + 1, next_at=now + gap):
        return False
    status, problem = _attempt(delivery, int(now.timestamp()))
    arrived = status is not None and 200 <= status < 300
    is_last = not arrived and attempts + 1 > len(GAPS)
    state = Delivery.State.FAILED if is_last else Delivery.State.WAITING
    Delivery.objects.filter(pk=delivery.pk).update(
        state=Delivery.State.DELIVERED if arrived else state,
        delivered_at=database_now() if arrived else None,
        last_status=status,
        last_error="" if arrived else problem[:200],
    )
    logger.info("webhook %s: %s %s", delivery.webhook_id, delivery.key, status or problem)
    return arrived


def _attempt(delivery: Delivery, at: int) -> tuple[int | None, str]:
    """Send the request and return the status of the response (or None) with a description."""
    webhook, identity = delivery.webhook, str(delivery.key)
    body = json.dumps({**delivery.body, "id": identity}, sort_keys=True).encode()
    try:
        secret = identities.decrypt(webhook.secret)
        headers = {
            "Content-Type": "application/json",
            "User-Agent": f"Handful/{settings.VERSION}",
            "webhook-id": identity,
            "webhook-timestamp": str(at),
            "webhook-signature": signature(secret, identity, at, body),
        }
        status = post(webhook.url, body, headers)
    except (Refused, identities.LostKey) as error:
        return None, str(error)
    except OSError as error:
        logger.warning("Webhook %s got no response: %s", webhook.pk, error)
        return None, f"the URL did not respond ({type(error).__name__})"
    return status, f"responded with {status}"


def post(url: str, body: bytes, headers: dict[str, str]) -> int:
    """POST to an address that has been checked, and return the status. Raises Refused, OSError.

    The request ends within TIMEOUT, except that the system's resolver has its own time limits. A
    redirect is not followed; its status is returned.
    """
    parts = check_address(url)
    place, deadline = place_of(parts), time.monotonic() + TIMEOUT
    target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    lines = [
        f"POST {target} HTTP/1.1",
        f"Host: {parts.netloc}",
        f"Content-Length: {len(body)}",
        "Connection: close",
        *(f"{name}: {value}" for name, value in headers.items()),
    ]
    with closing(_connected(parts, place, deadline)) as connection:
        connection.settimeout(_seconds_left(deadline))
        connection.sendall("\r\n".join([*lines, "", ""]).encode("ascii") + body)
        return _status(connection, deadline)


def _connected(parts: SplitResult, place: str, deadline: float) -> socket.socket:
    """Connect to an IP address. With TLS, the certificate must be for the host."""
    is_secure = parts.scheme == "https"
    port = parts.port or (443 if is_secure else 80)
    raw = socket.create_connection((place, port), _seconds_left(deadline))
    if not is_secure:
        return raw
    try:
        raw.settimeout(_seconds_left(deadline))
        return ssl.create_default_context().wrap_socket(raw, server_hostname=parts.hostname)
    except BaseException:
        raw.close()
        raise


def _status(connection: socket.socket, deadline: float) -> int:
    """Read only the first line of the response, and return its status, even if it is 1xx."""
    line = b""
    while b"\n" not in line and len(line) < LONGEST_LINE:
        connection.settimeout(_seconds_left(deadline))
        chunk = connection.recv(LONGEST_LINE)
        if not chunk:
            break
        line += chunk
    match = re.match(rb"HTTP/1\.[01] ([0-9]{3})[ \r\n]", line)
    if match is None:
        raise ConnectionError("The response does not start with an HTTP status line.")
    return int(match[1])


def _seconds_left(deadline: float) -> float:
    """Return how many seconds remain, or raise TimeoutError if time has run out."""
    seconds = deadline - time.monotonic()
    if seconds <= 0:
        raise TimeoutError(f"no status line after {TIMEOUT} seconds")
    return seconds
