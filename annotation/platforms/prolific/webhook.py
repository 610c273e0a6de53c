"""Events that Prolific sends: signed, stored once, dealt with later, never trusted for content.

The request only stores the event: what Prolific knows is asked by `manage.py tick`, so that no
thread that serves annotators waits for Prolific.
"""

import base64
import hashlib
import hmac
from datetime import timedelta

from django.utils import timezone

from annotation.models import WebhookEvent
from annotation.platforms.prolific.rows import Synced
from annotation.platforms.prolific.submissions import sync_submission

# Prolific tries again for a day; an older request is a replay.
OLDEST = 25 * 3600  # seconds


def signature(secret: str, timestamp: str, body: bytes) -> str:
    """base64(HMAC-SHA256(secret, timestamp + body)), as Prolific documents it."""
    digest = hmac.new(secret.encode(), timestamp.encode() + body, hashlib.sha256).digest()
    return base64.b64encode(digest).decode()


def handle_events() -> Synced:
    """Look up what the stored events tell of, and drop those that no replay can bring again.

    Raises ProlificError where Prolific cannot be reached; the rest waits for the next run.
    """
    done = Synced()
    waiting = WebhookEvent.objects.filter(handled_at=None).order_by("pk")
    for resource in dict.fromkeys(waiting.values_list("resource", flat=True)):
        events = list(waiting.filter(resource=resource).values_list("pk", flat=True))
        with done.noting(f"event about {resource}"):
            done.submissions += 1
            done.changed += sync_submission(resource)
            # Those that came meanwhile tell of something newer.
            WebhookEvent.objects.filter(pk__in=events).update(handled_at=timezone.now())
    old = timezone.now() - timedelta(seconds=2 * OLDEST)
    WebhookEvent.objects.filter(received_at__lt=old).delete()
    return done
