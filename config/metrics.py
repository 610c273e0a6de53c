"""Metrics in the format of Prometheus, for whoever has METRICS_TOKEN; without one, nothing.

Requests and answers are counted by each process in a file of its own (the library's multiprocess
mode), in a folder of this server alone: /metrics adds up the processes of the machine that is
asked. What the database knows is read when it is asked for (config/gauges.py). Addresses are told
by the names of their routes, so no link can stand here.
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
SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30)  # bounds of the histogram
FOLDER = "PROMETHEUS_MULTIPROC_DIR"  # the library reads it once, when it is imported


class Instruments:
    """What this process counts."""

    def __init__(self) -> None:
        os.environ.setdefault(FOLDER, str(folder_of_server()))
        from prometheus_client import Counter, Histogram

        self.seconds = Histogram(
            "handful_request_seconds",
            "Time until a reply begins, by route and method",
            ["route", "method"],
            buckets=SECONDS,
            registry=None,
        )
        self.replies = Counter(
            "handful_replies", "Replies by route, method and status",
            ["route", "method", "status"], registry=None,
        )  # fmt: skip
        self.answers = Counter(
            "handful_answers", "Answers stored by this server since it started", registry=None
        )


instruments = functools.cache(Instruments)


def folder_of_server() -> Path:
    """A folder for the processes of this server; those of servers that have ended are deleted.

    Processes of one server have the same parent, so that one which is started again finds what its
    predecessors have counted. Raises ImproperlyConfigured where it is somebody else's.
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
        raise ImproperlyConfigured(f"{folder} is another user's: remove it.")
    return folder


def measured(
    get_response: Callable[[HttpRequest], HttpResponseBase],
) -> Callable[[HttpRequest], HttpResponseBase]:
    """Count each reply and the time that it took; left out where there is no METRICS_TOKEN."""
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
    """Receiver of Answer's post_save: one more, once it is committed."""
    if created:
        transaction.on_commit(instruments().answers.inc)


@never_cache
@require_GET
def metrics(request: HttpRequest) -> HttpResponse:
    """Everything as text, for `Authorization: Bearer METRICS_TOKEN`; 404 where no token is set."""
    if not settings.METRICS_TOKEN:
        raise Http404
    sent = request.headers.get("Authorization", "")
    if not constant_time_compare(sent, f"Bearer {settings.METRICS_TOKEN}"):
        return HttpResponse(
            "Send the header Authorization: Bearer, with METRICS_TOKEN.\n",
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
