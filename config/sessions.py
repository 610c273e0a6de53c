"""Session expiry and time zones for researchers, and deletion of expired data.

Django deletes an expired cache entry only when it is requested again or when the table is full, so
hashes of user names and IP addresses would otherwise be kept for years.
"""

import time
import zoneinfo
from collections.abc import Callable
from contextlib import nullcontext
from datetime import timedelta

from django.contrib.auth import SESSION_KEY
from django.contrib.auth.models import User
from django.contrib.auth.signals import user_logged_in
from django.contrib.sessions.backends.db import SessionStore
from django.core.cache import caches
from django.core.cache.backends.db import DatabaseCache
from django.db import connection
from django.db.models import Q
from django.dispatch import receiver
from django.http import HttpRequest, HttpResponse
from django.utils import timezone

from annotation.models import Invitation, Preferences
from config.addresses import is_of_annotators, is_of_researchers
from tasks.clock import database_now

RENEWED_AFTER = 3600  # seconds
TIME_ZONE = "time_zone"  # key in the session


def researcher_time_zone(
    get_response: Callable[[HttpRequest], HttpResponse],
) -> Callable[[HttpRequest], HttpResponse]:
    """Show researchers' pages in the time zone they chose. Files and the API use UTC.

    A session expires a fixed time after its last use, which is updated at most once an hour.
    Annotators' pages, and automatic requests by open pages, don't extend a session.
    """

    def answer(request: HttpRequest) -> HttpResponse:
        if is_of_annotators(request.path_info):
            return get_response(request)
        zone = request.session.get(TIME_ZONE) if is_of_researchers(request.path_info) else None
        with timezone.override(zoneinfo.ZoneInfo(zone)) if zone else nullcontext():
            response = get_response(request)
        if "HX-Request" not in request.headers:
            _renew(request)
        return response

    return answer


def _renew(request: HttpRequest) -> None:
    """Extend the session and apply a time zone that was chosen in another browser."""
    now = int(time.time())
    # API clients with a token have a user but no session.
    if SESSION_KEY not in request.session:
        return
    if now - request.session.get("renewed_at", 0) >= RENEWED_AFTER:
        request.session["renewed_at"] = now
        if request.user.is_authenticated:  # the account may have been closed since then
            _take_over(request, request.user)


def _take_over(request: HttpRequest, user: User) -> None:
    preferences = Preferences.objects.filter(user=user).first()
    if preferences is not None:
        request.session[TIME_ZONE] = preferences.time_zone


@receiver(user_logged_in)
def begin_session(request: HttpRequest, user: User, **_signal: object) -> None:
    """Set the time zone of a new session and delete expired sessions."""
    request.session["renewed_at"] = int(time.time())
    _take_over(request, user)
    SessionStore.clear_expired()


# How long after an invitation ended.
MAX_AGE = timedelta(days=30)


def prune() -> str:
    """Delete expired sessions, cache entries and invitations."""
    SessionStore.clear_expired()
    counts = _clear_cache()
    cutoff = database_now() - MAX_AGE
    ended = Q(expires_at__lt=cutoff) | Q(revoked_at__lt=cutoff) | Q(accepted_at__lt=cutoff)
    invitations, _ = Invitation.objects.filter(ended).delete()
    return f"{counts} counts and {invitations} invitations deleted"


def _clear_cache() -> int:
    cache = caches["default"]
    if not isinstance(cache, DatabaseCache):
        return 0
    table = connection.ops.quote_name(cache._table)  # type: ignore[attr-defined]
    with connection.cursor() as cursor:
        now = connection.ops.adapt_datetimefield_value(database_now().replace(microsecond=0))
        cursor.execute(f"DELETE FROM {table} WHERE expires < %s", [now])
        return int(cursor.rowcount)
