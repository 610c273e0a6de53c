"""Events that Prolific sends: signed, stored once, dealt with later, never trusted for content.

The request only stores the event: what Prolific knows is asked by `sync_prolific`, so that no
thread that serves annotators waits for Prolific.
"""

import base64
import hashlib
import hmac
import json
import time
from datetime import timedelta

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.utils import timezone
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_POST

from annotation.models import WebhookEvent
from annotation.platforms.prolific.client import Client
from annotation.platforms.prolific.sync import Synced, sync_submission

# Prolific tries again for a day; an older request is a replay.
OLDEST = 25 * 3600  # seconds


def signature(secret: str, timestamp: str, body: bytes) -> str:
    """base64(HMAC-SHA256(secret, timestamp + body)), as Prolific documents it."""
    digest = hmac.new(secret.encode(), timestamp.encode() + body, hashlib.sha256).digest()
    return base64.b64encode(digest).decode()


@csrf_exempt
@require_POST
def receive(request: HttpRequest) -> HttpResponse:
    """An event. 202: stored; 200: stored before; 401: not signed by Prolific; 400: no event."""
    signed = _signature(request)
    if not signed:
        return HttpResponse("The signature is wrong.", status=401, content_type="text/plain")
    try:
        told = json.loads(request.body)
    except (ValueError, RecursionError):
        return HttpResponse("Not JSON.", status=400, content_type="text/plain")
    if not isinstance(told, dict):
        return HttpResponse("No event.", status=400, content_type="text/plain")
    is_news = told.get("event_type") == "submission.status.change"
    resource = str(told.get("resource_id", "")) if is_news else ""
    if len(resource) > 100 or "\0" in resource:
        return HttpResponse("No submission.", status=400, content_type="text/plain")
    _event, is_new = WebhookEvent.objects.get_or_create(
        event_id=signed,
        defaults={
            "resource": resource,
            "handled_at": None if resource else timezone.now(),
        },
    )
    return HttpResponse(status=202 if is_new else 200)


def handle_events(client: Client | None = None) -> Synced:
    """Look up what the stored events tell of, and drop those that no replay can bring again.

    Raises ProlificError where Prolific cannot be reached; the rest waits for the next run.
    """
    done = Synced()
    waiting = WebhookEvent.objects.filter(handled_at=None).order_by("pk")
    for resource in dict.fromkeys(waiting.values_list("resource", flat=True)):
        events = list(waiting.filter(resource=resource).values_list("pk", flat=True))
        with done.noting(f"event about {resource}"):
            client = client or Client(patient=True)
            done.submissions += 1
            done.changed += sync_submission(resource, client)
            # Those that came meanwhile tell of something newer.
            WebhookEvent.objects.filter(pk__in=events).update(handled_at=timezone.now())
    old = timezone.now() - timedelta(seconds=2 * OLDEST)
    WebhookEvent.objects.filter(received_at__lt=old).delete()
    return done


def _signature(request: HttpRequest) -> str:
    """The signature of a request that Prolific signed lately; "" for any other."""
    timestamp = request.headers.get("X-Prolific-Request-Timestamp", "")
    given = request.headers.get("X-Prolific-Request-Signature", "")
    secret = settings.PROLIFIC_WEBHOOK_SECRET
    if not secret:
        return ""
    expected = signature(secret, timestamp, request.body)
    if not hmac.compare_digest(expected.encode(), given.encode()):
        return ""
    try:
        return expected if abs(time.time() - float(timestamp)) < OLDEST else ""
    except ValueError:
        return ""
