"""Metrics in the Prometheus format, for clients with METRICS_TOKEN; disabled without one.

Each process counts requests and answers in a separate file (the library's multiprocess mode), in a
folder on this server: /metrics sums over the processes on the machine being scraped. Gauges from
the database are read at each scrape (config/gauges.py). Labels are route names, never URLs, so they
contain no links.
"""

import contextlib
import functools
import os
import shutil
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured, MiddlewareNotUsed
from django.db import transaction
from django.db.models.signals import post_save
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase
from django.utils.crypto import constant_time_compare
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET

from annotation.models import Answer

METHODS = {"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"}
SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30)  # histogram buckets
FOLDER = "PROMETHEUS_MULTIPROC_DIR"  # the library reads it at import


class Instruments:
    def __init__(self) -> None:
        os.environ.setdefault(FOLDER, str(folder_of_server()))
        from prometheus_client import Counter, Histogram

        self.seconds = Histogram(
            "handful_request_seconds",
            "Time until the response starts, by route and method",
            ["route", "method"],
            buckets=SECONDS,
            registry=None,
        )
        self.replies = Counter(
            "handful_replies", "Responses by route, method and status",
            ["route", "method", "status"], registry=None,
        )  # fmt: skip
        self.answers = Counter(
            "handful_answers", "Answers stored by this server since its start", registry=None
        )


instruments = functools.cache(Instruments)


def folder_of_server() -> Path:
    """Return the folder for this server's processes; delete the folders of stopped servers.

    A server's processes have the same parent, so a restarted process finds its predecessors'
    counts. Raises ImproperlyConfigured if another user owns it.
    """
    start = f"handful-metrics-{os.geteuid()}-"
    root = Path(tempfile.gettempdir())
    for old in root.glob(f"{start}*"):
        if not Path("/proc", old.name.removeprefix(start)).exists():
            shutil.rmtree(old, ignore_errors=True)
    folder = root / f"{start}{os.getppid()}"
    with contextlib.suppress(FileExistsError):
        folder.mkdir(mode=0o700)
    if folder.lstat().st_uid != os.geteuid() or folder.is_symlink():
        raise ImproperlyConfigured(f"{folder} belongs to another user. Remove it.")
    return folder


def measured(
    get_response: Callable[[HttpRequest], HttpResponseBase],
) -> Callable[[HttpRequest], HttpResponseBase]:
    """Count each response and its duration; not used without METRICS_TOKEN."""
    if not settings.METRICS_TOKEN:
        raise MiddlewareNotUsed
    counted = instruments()
    post_save.connect(count_answer, sender=Answer)

    def measure(request: HttpRequest) -> HttpResponseBase:
        began = time.perf_counter()
        response = get_response(request)
        took = time.perf_counter() - began
        route = request.resolver_match.view_name if request.resolver_match else "none"
        method = request.method if request.method in METHODS else "other"
        counted.seconds.labels(route, method).observe(took)
        counted.replies.labels(route, method, response.status_code).inc()
        return response

    return measure


def count_answer(created: bool, **_kwargs: Any) -> None:
    """Receiver of Answer's post_save: count an answer once it is committed."""
    if created:
        transaction.on_commit(instruments().answers.inc)


@never_cache
@require_GET
def metrics(request: HttpRequest) -> HttpResponse:
    """All metrics as text, for `Authorization: Bearer METRICS_TOKEN`; 404 if no token is set."""
    if not settings.METRICS_TOKEN:
        raise Http404
    sent = request.headers.get("Authorization", "")
    if not constant_time_compare(sent, f"Bearer {settings.METRICS_TOKEN}"):
        return HttpResponse(
            "Send the header Authorization: Bearer with METRICS_TOKEN.\n",
            status=401, content_type="text/plain", headers={"WWW-Authenticate": "Bearer"},
        )  # fmt: skip
    instruments()
    from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, generate_latest
    from prometheus_client.multiprocess import MultiProcessCollector

    from config.gauges import Stored

    registry = CollectorRegistry()
    MultiProcessCollector(registry, path=os.environ[FOLDER])
    registry.register(Stored())
    return HttpResponse(generate_latest(registry), content_type=CONTENT_TYPE_LATEST)
