"""Endpoints for liveness and readiness, for use by load balancers and monitoring.

Both are public, so they only report the names of failed checks. Details are in the log.
"""

import contextlib
import logging
import os
import shutil
from collections.abc import Callable
from datetime import timedelta

from django.conf import settings
from django.core.signing import BadSignature, TimestampSigner
from django.db import DatabaseError, connections
from django.db.migrations.executor import MigrationExecutor
from django.http import HttpRequest, JsonResponse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET

from annotation import guards, key_check
from tasks import installation, periodic

LEAST_SPACE = 200_000_000  # bytes free in var/, enough for one upload of the maximum size
ASKS = "X-Handful-Check"
_SIGNER = TimestampSigner(salt="handful.check")
log = logging.getLogger("handful.health")


def _database() -> str:
    with connections["default"].cursor() as cursor:
        cursor.execute("SELECT 1")
    return ""


def not_migrated() -> list[str]:
    executor = MigrationExecutor(connections["default"])
    waiting = executor.migration_plan(executor.loader.graph.leaf_nodes())
    return [f"{migration.app_label}.{migration.name}" for migration, _backwards in waiting]


def _migrations() -> str:
    names = not_migrated()
    return f"not applied: {', '.join(names)}; run manage.py migrate" if names else ""


def _guards() -> str:
    names = guards.missing(connections["default"])
    return f"missing: {', '.join(names)}; run manage.py migrate" if names else ""


def _folder() -> str:
    if conflict := installation.conflict():
        return conflict
    if not os.access(settings.VAR_DIR, os.W_OK):
        return f"{settings.VAR_DIR} cannot be written to"
    free = shutil.disk_usage(settings.VAR_DIR).free
    return "" if free >= LEAST_SPACE else f"{free / 1e6:.0f} MB are free in {settings.VAR_DIR}"


# These run in this order. After a database error, all remaining checks are skipped.
CHECKS: dict[str, Callable[[], str]] = {
    "database": _database,
    "migrations": _migrations,
    "guards": _guards,
    "keys": key_check.problem,
    "folder": _folder,
}


@never_cache
@require_GET
def live(request: HttpRequest) -> JsonResponse:
    """Return 200 if the process responds: it must not be restarted when other services fail."""
    body: dict[str, object] = {"status": "live"}
    with contextlib.suppress(BadSignature):
        _SIGNER.unsign(request.headers.get(ASKS, ""), max_age=timedelta(minutes=1))
        entries = request.headers.get("X-Forwarded-For", "").split(",")
        body["arrived"] = {
            "forwarded": sum(bool(entry.strip()) for entry in entries),
            "secure": request.is_secure(),
            "release": settings.VERSION,
        }
    return JsonResponse(body)


def signed() -> str:
    """Return a value for the ASKS header, which is valid for one minute."""
    return _SIGNER.sign("check")


@never_cache
@require_GET
def ready(request: HttpRequest) -> JsonResponse:
    """Return 200 if all checks pass, otherwise 503 with the names of those that failed."""
    results = dict.fromkeys(CHECKS, "")
    for name, check in CHECKS.items():
        try:
            results[name] = check()
        except DatabaseError as error:
            results[name] = str(error).strip() or "no answer"
            break
    wrong = {name: problem for name, problem in results.items() if problem}
    for name, problem in wrong.items():
        log.error("Not ready: %s: %s", name, problem)
    body = {"status": "not ready" if wrong else "ready", "wrong": list(wrong)}
    if not wrong and periodic.is_overdue():  # reported, but the server still accepts traffic
        body["overdue"] = ["tick"]
    return JsonResponse(body, status=503 if wrong else 200)
