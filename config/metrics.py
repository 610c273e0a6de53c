"""Metrics in the Prometheus format. They are disabled unless METRICS_TOKEN is set.

Each process counts requests and answers in a separate file (the client library's multiprocess mode)
in a folder on this machine. /metrics returns the sums over all processes on the machine. Gauges are
read from the database at each scrape (config/gauges.py). Labels contain route names instead of
URLs, so secret links can't leak.
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
FOLDER = "PROMETHEUS_MULTIPROC_DIR"  # prometheus_client reads this variable when it is imported


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
    """Return the metrics folder for this server's processes, and delete those of stopped servers.

    The folder is named after the parent process, so restarted processes keep their counts. Raises
    ImproperlyConfigured if another user owns the folder.
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
    """Count responses and measure their duration. Disabled without METRICS_TOKEN."""
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
    """Count a new answer once its transaction is committed (a receiver of post_save)."""
    if created:
        transaction.on_commit(instruments().answers.inc)


@never_cache
@require_GET
def metrics(request: HttpRequest) -> HttpResponse:
    """Return all metrics as text to clients with METRICS_TOKEN, or 404 if it is not set."""
    if not settings.METRICS_TOKEN:
        raise Http404
    authorization = request.headers.get("Authorization", "")
    if not constant_time_compare(authorization, f"Bearer {settings.METRICS_TOKEN}"):
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
