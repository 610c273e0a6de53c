"""The address that Prolific sends its events to: signed, stored once, handled later."""

import hmac
import json
import time

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.utils import timezone
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_POST

from annotation.models import WebhookEvent
from annotation.platforms.prolific.webhook import OLDEST, signature


@csrf_exempt
@require_POST
def receive(request: HttpRequest) -> HttpResponse:
    """An event. 202: stored; 200: stored before; 401: not signed by Prolific; 400: no event."""
    signed = _signature(request)
    if not signed:
        return HttpResponse("The signature is wrong.", status=401, content_type="text/plain")
    try:
        event = json.loads(request.body)
    except (ValueError, RecursionError):
        return HttpResponse("Not JSON.", status=400, content_type="text/plain")
    if not isinstance(event, dict):
        return HttpResponse("No event.", status=400, content_type="text/plain")
    is_news = event.get("event_type") == "submission.status.change"
    resource = str(event.get("resource_id", "")) if is_news else ""
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
