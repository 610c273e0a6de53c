"""What signing in and platforms leave behind goes when it is over; a part of `manage.py tick`.

Django deletes an entry of the cache's table that has run out only when it is asked for again, or
when the table is full: hashes of names and addresses would stay for years.
"""

from datetime import timedelta

from django.contrib.sessions.backends.db import SessionStore
from django.core.cache import caches
from django.core.cache.backends.db import DatabaseCache
from django.db import connection
from django.db.models import Q

from annotation.models import Invitation, WebhookEvent
from tasks.clock import database_now

# So long after an invitation has ended, and after an event of a platform was processed.
KEPT_FOR = timedelta(days=30)


def prune() -> str:
    """Delete sessions, counts and invitations that have ended, and ids of processed events.

    Of an event its signature stays: the same one is not taken twice.
    """
    SessionStore.clear_expired()
    counts = _clear_cache()
    before = database_now() - KEPT_FOR
    ended = Q(expires_at__lt=before) | Q(revoked_at__lt=before) | Q(accepted_at__lt=before)
    invitations, _ = Invitation.objects.filter(ended).delete()
    events = WebhookEvent.objects.filter(handled_at__lt=before).exclude(resource="")
    return (
        f"{counts} counts and {invitations} invitations deleted,"
        f" {events.update(resource='')} events emptied"
    )


def _clear_cache() -> int:
    """Delete entries that have run out; Redis does so by itself."""
    cache = caches["default"]
    if not isinstance(cache, DatabaseCache):
        return 0
    table = connection.ops.quote_name(cache._table)  # type: ignore[attr-defined]
    with connection.cursor() as cursor:
        now = connection.ops.adapt_datetimefield_value(database_now().replace(microsecond=0))
        cursor.execute(f"DELETE FROM {table} WHERE expires < %s", [now])
        return int(cursor.rowcount)
