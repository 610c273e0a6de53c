"""Events that Prolific sends: signed, taken once, and never trusted for their content."""

import base64
import hashlib
import hmac
import json
import time

from django.conf import settings
from django.db import IntegrityError, transaction
from django.http import HttpRequest, HttpResponse
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_POST

from annotation.models import WebhookEvent
from annotation.recruiters.prolific.client import ProlificError
from annotation.recruiters.prolific.sync import sync_submission

# Prolific tries again for two days; an older request is a replay.
OLDEST = 3 * 24 * 3600  # seconds


def signature(secret: str, timestamp: str, body: bytes) -> str:
    """base64(HMAC-SHA256(secret, timestamp + body)), as Prolific documents it."""
    digest = hmac.new(secret.encode(), timestamp.encode() + body, hashlib.sha256).digest()
    return base64.b64encode(digest).decode()


@csrf_exempt
@require_POST
def receive(request: HttpRequest) -> HttpResponse:
    """An event. 2xx: taken (or taken before); 401: not signed by Prolific; 503: try again."""
    if not _is_signed(request):
        return HttpResponse("The signature is wrong.", status=401, content_type="text/plain")
    event = request.headers.get("X-Event-Id", "")[:100]
    try:
        told = json.loads(request.body)
    except ValueError:
        return HttpResponse("Not JSON.", status=400, content_type="text/plain")
    if not event or not isinstance(told, dict):
        return HttpResponse("No event.", status=400, content_type="text/plain")
    if WebhookEvent.objects.filter(event_id=event).exists():
        return HttpResponse(status=200)
    if told.get("event_type") == "submission.status.change":
        try:
            sync_submission(str(told.get("resource_id", "")))
        except ProlificError:
            return HttpResponse("Prolific's API does not answer.", status=503)
    try:
        with transaction.atomic():
            WebhookEvent.objects.create(event_id=event)
    except IntegrityError:
        pass  # the same event at the same moment: what it led to happens once anyway
    return HttpResponse(status=200)


def _is_signed(request: HttpRequest) -> bool:
    timestamp = request.headers.get("X-Prolific-Request-Timestamp", "")
    given = request.headers.get("X-Prolific-Request-Signature", "")
    secret = settings.PROLIFIC_WEBHOOK_SECRET
    if not secret or not hmac.compare_digest(
        signature(secret, timestamp, request.body).encode(), given.encode()
    ):
        return False
    try:
        return abs(time.time() - float(timestamp)) < OLDEST
    except ValueError:
        return False
