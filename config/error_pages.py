"""Responses to forbidden requests and to errors."""

import logging
import sys

from django.db import Error, InterfaceError, OperationalError
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render
from django.template.loader import render_to_string
from django.views.defaults import permission_denied

from annotation.protocol.blinding import ScoresHidden
from annotation.web import problems
from config import health, logs

log = logging.getLogger("handful.refusals")
AWAY = 5  # seconds until a client should retry
# PostgreSQL's SQLSTATE: lost connections, no resources (disk, connections), shutdown, read-only.
STATES = ("08", "53", "57P", "25006")
# The same for SQLite, as prefixes of more detailed names.
NAMES = ("BUSY", "LOCKED", "READONLY", "FULL", "CANTOPEN", "IOERR")


def not_allowed(request: HttpRequest, exception: Exception) -> HttpResponse:
    """403 with the reason; for results that are still hidden, within the study's pages."""
    if isinstance(exception, ScoresHidden):
        context = {"study": exception.study, "reason": str(exception)}
        return render(request, "web/scores_hidden.html", context, status=403)
    return permission_denied(request, exception)


def server_error(request: HttpRequest) -> HttpResponse | JsonResponse:
    """500 with the request ID, which is also in the log.

    503 with Retry-After if the database is down, read-only or full. 503 with instructions if
    `migrate` has not run. People get a page, a page's scripts get a line of text, and programs get
    problem JSON.
    """
    if is_away(sys.exc_info()[1]):
        response = _told(request, 503)
        response["Retry-After"] = str(AWAY)
        return response
    try:
        waiting = health.not_migrated()
    except Exception:  # the cause of the error may affect this too
        waiting = []
    if not waiting:
        return _told(request, 500)
    return HttpResponse(
        "The database of this server is not ready. Operators: run python manage.py migrate, then"
        " reload this page. (Not applied: " + ", ".join(waiting) + ".)\n",
        content_type="text/plain; charset=utf-8",
        status=503,
    )


def _told(request: HttpRequest, status: int) -> HttpResponse | JsonResponse:
    number = logs.request_id.get()
    if request.path_info.startswith("/api/"):
        return problems.failed(number, status)
    plain = f"Something went wrong here. If you report it, include this number: {number}\n"
    if not request.headers.get("HX-Request"):
        try:
            page = render_to_string("500.html", {"request_id": number})
            return HttpResponse(page, status=status)
        except Exception:  # the cause of the error may affect templates
            log.exception("The error page also failed")
    return HttpResponse(plain, content_type="text/plain; charset=utf-8", status=status)


def is_away(error: BaseException | None) -> bool:
    """Would the request succeed if the database were reachable, writable and not full?"""
    if isinstance(error, InterfaceError):
        return True
    if not isinstance(error, Error):
        return False
    state = getattr(error.__cause__, "pgcode", None)
    if state:
        return state.startswith(STATES)
    if not isinstance(error, OperationalError):
        return False
    name = getattr(error.__cause__, "sqlite_errorname", "")
    # PostgreSQL reports no SQLSTATE without a connection.
    return not name or name.removeprefix("SQLITE_").startswith(NAMES)
