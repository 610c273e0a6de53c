"""Access checks for visitors, which return the study or participation behind a link.

They activate the study's language, which callers must reset, because threads are reused.
"""

import ipaddress
import secrets
from dataclasses import asdict
from typing import Any

from django.conf import settings
from django.core import signing
from django.core.cache import cache
from django.db.models import Sum
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404
from django.utils import translation
from django.utils.crypto import salted_hmac

from annotation.models import Kind, Participation, Status, Study
from annotation.recruitment import arrivals, join_errors, platform_adapters
from annotation.recruitment.identities import worker_key
from annotation.recruitment.links import COOKIE_AGE, COOKIE_SALT, OpenLink, browser
from annotation.recruitment.platform_adapters import Identity

TICKET_SALT = "annotation.arrival"
# Long enough to read the landing page and be interrupted. A copied URL expires within hours, and
# platforms do not hold a place for much longer before the work starts.
TICKET_AGE = 2 * 3600  # seconds
WINDOW, HOUR = 60, 3600  # seconds
ENDED = (Status.COMPLETED, Status.SCREENED_OUT, Status.WITHDRAWN, Status.REJECTED)


class Arrival:
    """An arrival at a study: the worker's adapter, kind and key, and their browser."""

    def __init__(
        self,
        request: HttpRequest,
        adapter: platform_adapters.PlatformAdapter,
        code: str,
        ticket: str = "",
    ):
        self.adapter, self.study, self.kind, self.code = adapter, adapter.study, adapter.kind, code
        self.is_preview = adapter.is_preview(request)
        content = self._of_ticket(ticket)
        # If Start is clicked twice on the first visit, the cookie is not set yet, so the form
        # contains the ID.
        self.new_browser = content.get("browser") or secrets.token_urlsafe(24)
        self.browser = browser(request) or self.new_browser
        self.identity = None
        if not self.is_preview:
            identity = content.get("who")
            self.identity = Identity(**identity) if identity else adapter.identity(request)
        self.query = request.META.get("QUERY_STRING", "")
        hint, agent = (request.headers.get(n, "") for n in ("Sec-CH-UA-Mobile", "User-Agent"))
        is_phone = hint == "?1" or (not hint and "Mobi" in agent)  # this is not stored
        self.lacks_computer = self.study.computer_only and is_phone
        self.address = client_address(request) or ""

    @property
    def ticket(self) -> str:
        """Return a signed form field with the identity and, if there is no cookie, the browser ID.

        A platform's signature is valid for only two minutes. It is checked once, when the page is
        shown, and Start relies on this field.
        """
        has_cookie = self.browser != self.new_browser
        identity = self.identity if self.identity and self.identity.person != self.browser else None
        content = {
            "study": self.code,
            "browser": "" if has_cookie else self.new_browser,
            "who": asdict(identity) if identity else None,
        }
        return signing.dumps(content, salt=TICKET_SALT)

    def _of_ticket(self, ticket: str) -> dict[str, Any]:
        """Return the content of a ticket, or {} if it is missing, stale or for another study."""
        try:
            content = signing.loads(ticket, salt=TICKET_SALT, max_age=TICKET_AGE)
        except signing.BadSignature:
            return {}
        return content if content["study"] == self.code else {}

    @property
    def key(self) -> str:
        """Return the worker's key, or "" if the browser is unknown."""
        return worker_key(self.adapter.platform, self.identity.person) if self.identity else ""

    def refusal(self) -> str:
        """Return why no seats are available now (a code in join_errors.NO_SEAT), or ""."""
        if self.lacks_computer:
            return "device"
        browser = worker_key("browser", self.browser) if self.kind == Kind.PERSON else ""
        return self.adapter.refusal() or join_errors.refusal(
            self.study, self.key, self.kind, self.adapter.scenarios(), browser
        )

    def live(self) -> Participation | None:
        """Return the live or resumable participation with this ID, without checking ownership."""
        rows = self.study.participations.filter(worker__key=self.key).order_by("-pk")
        return rows.live().first() or rows.expired_at_work().first()

    def ended(self) -> Participation | None:
        """Return the latest ended participation, so that its page can show the exit again.

        If the platform has submission IDs, only the participation of this submission matches.
        """
        rows = self.study.participations.filter(worker__key=self.key, status__in=ENDED)
        if self.identity and self.identity.submission:
            key = arrivals.submission_key(self.adapter.platform, self.identity.submission)
            rows = rows.filter(submissions__key=key)
        return rows.order_by("-pk").first()

    def owns(self, participation: Participation) -> bool:
        """Return whether the arrival may see this participation's personal link.

        Others may know an unverified ID, so it is accepted only in the original browser.
        """
        if self.identity is None or self.identity.verified:
            return self.identity is not None
        return participation.browser == worker_key("browser", self.browser)

    def start(self, in_browser: bool = True) -> Participation:
        """Assign a seat. An unknown browser gets the identity that was drawn for it.

        The page and the API share these checks. The browser is stored only if `in_browser` is true.
        Raises join_errors.RecruitmentError.
        """
        self._check_may_start()
        self.identity = self.identity or Identity(self.browser, verified=True)
        stored = self.browser if in_browser and self.kind == Kind.PERSON else ""
        try:
            return arrivals.arrive(self.adapter, self.identity, stored)
        except join_errors.RecruitmentError as refusal:
            if refusal.code == "elsewhere":
                arrivals.note_elsewhere(self.adapter, self.identity)
            raise

    def _check_may_start(self) -> None:
        """Reject previews, phones if a computer is required, and too many starts per IP address.

        Annotators with a live participation may continue on any device.
        """
        if self.is_preview:
            raise join_errors.RecruitmentError("preview")
        live = self.live()
        if self.lacks_computer and not live:
            raise join_errors.RecruitmentError("device")
        latest = live or self.ended()
        if not self.adapter.anonymous or (latest is not None and self.owns(latest)):
            return
        if not admit(self.address):
            raise join_errors.RecruitmentError("busy")
        by_open_link = type(self.adapter) is OpenLink
        if by_open_link and not admit_to(self.study, self.address):
            raise join_errors.RecruitmentError("address")

    def set_cookie(self, response: HttpResponse, secure: bool) -> None:
        response.set_signed_cookie(
            settings.WORKER_COOKIE_NAME, self.browser, salt=COOKIE_SALT, max_age=COOKIE_AGE,
            httponly=True, secure=secure, samesite="Lax",
        )  # fmt: skip


def arrival(request: HttpRequest, code: str, ticket: str = "") -> Arrival:
    """Return the arrival at the study behind a link. Raises Http404 for unknown codes.

    `ticket` comes from the form on the landing page (Arrival.ticket). Raises NotAdmitted for a
    forged or stale URL.
    """
    adapter = platform_adapters.adapter_at(code)
    if adapter is None:
        raise Http404
    translation.activate(adapter.study.interface_language)
    return Arrival(request, adapter, code, ticket)


def participation_of(token: str) -> Participation:
    """Return the participation with this token. Raises Http404 for unknown tokens."""
    participation = get_object_or_404(
        Participation.objects.select_related("study", "scenario__task", "worker").defer(
            "scenario__task__card_data"
        ),
        token=token,
    )
    translation.activate(participation.study.interface_language)
    return participation


def language_of(request: HttpRequest) -> str:
    """Return the language of the study behind the URL, or else that of the browser."""
    captured = request.resolver_match.kwargs if request.resolver_match else {}
    is_link = not {"token", "code"}.isdisjoint(captured)
    fallback = translation.get_language_from_request(request) if is_link else "en"
    if "token" in captured:
        rows = Participation.objects.filter(token=captured["token"])
        return rows.values_list("study__interface_language", flat=True).first() or fallback
    adapter = platform_adapters.adapter_at(captured["code"]) if "code" in captured else None
    return adapter.study.interface_language if adapter else fallback


def admit(address: str) -> bool:
    """Count a start from this IP address. Returns False above settings.STARTS_PER_MINUTE."""
    return _take(f"start:{_name(address)}", settings.STARTS_PER_MINUTE, WINDOW)


def admit_to(study: Study, address: str) -> bool:
    """Count a start on the study's open link. Return False if the IP address is over its limit.

    The limit is a tenth of the seats, and at least settings.STARTS_PER_HOUR (0: no limit). Consent
    does not reset it. A switch in the study lifts it, for classes that share an IP address.
    """
    minimum = settings.STARTS_PER_HOUR
    if study.shared_address or not minimum:
        return True
    seats = study.scenarios.aggregate(n=Sum("seats", default=0))["n"]
    return _take(f"start:{study.pk}:{_name(address)}", max(minimum, seats // 10), HOUR)


def _take(name: str, number: int, seconds: int) -> bool:
    """Take one of `number` places for `seconds`, or return False. Safe under concurrency."""
    places = [f"{name}:{place}" for place in range(number)]
    cached = cache.get_many(places)
    return any(cache.add(place, 1, seconds) for place in places if place not in cached)


def _name(address: str) -> str:
    """Return a salted hash of an IP address."""
    return salted_hmac("annotation.start_limit", address, algorithm="sha256").hexdigest()


def client_address(request: HttpRequest) -> str | None:
    """Return the IP address that connected to the outermost trusted proxy, or None.

    IPv6 addresses are truncated to 64 bits, because clients control the rest: "2001:db8:1:2::".
    """
    sender = request.META.get("REMOTE_ADDR", "")
    entries = [part.strip() for part in request.META.get("HTTP_X_FORWARDED_FOR", "").split(",")]
    hops = settings.TRUSTED_PROXIES
    # With fewer entries than proxies, the request bypassed them, so use its direct address.
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
