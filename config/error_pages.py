"""Responses for forbidden requests and server errors."""

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
AWAY = 5  # seconds, sent as Retry-After
# Prefixes of PostgreSQL's SQLSTATE: lost connections, no resources, shutdown, read-only.
STATES = ("08", "53", "57P", "25006")
# SQLite's names for the same errors. More specific names start with these.
NAMES = ("BUSY", "LOCKED", "READONLY", "FULL", "CANTOPEN", "IOERR")


def not_allowed(request: HttpRequest, exception: Exception) -> HttpResponse:
    """Return a 403 page with the reason, which for hidden results is within the study's pages."""
    if isinstance(exception, ScoresHidden):
        context = {"study": exception.study, "reason": str(exception)}
        return render(request, "web/scores_hidden.html", context, status=403)
    return permission_denied(request, exception)


def server_error(request: HttpRequest) -> HttpResponse | JsonResponse:
    """Return a 500 response with the request ID, which is also in the log.

    If the database is down, read-only or full, return 503 with Retry-After. If `migrate` has not
    been run, return 503 with instructions. Browsers get a page, htmx requests get plain text, and
    API clients get problem JSON.
    """
    if is_away(sys.exc_info()[1]):
        response = _error_response(request, 503)
        response["Retry-After"] = str(AWAY)
        return response
    try:
        waiting = health.not_migrated()
    except Exception:  # this check may fail for the same reason
        waiting = []
    if not waiting:
        return _error_response(request, 500)
    return HttpResponse(
        "The database of this server is not ready. Operators: run python manage.py migrate, then"
        " reload this page. (Not applied: " + ", ".join(waiting) + ".)\n",
        content_type="text/plain; charset=utf-8",
        status=503,
    )


def _error_response(request: HttpRequest, status: int) -> HttpResponse | JsonResponse:
    number = logs.request_id.get()
    if request.path_info.startswith("/api/"):
        return problems.failed(number, status)
    plain = f"Something went wrong here. If you report it, include this number: {number}\n"
    if not request.headers.get("HX-Request"):
        try:
            page = render_to_string("500.html", {"request_id": number})
            return HttpResponse(page, status=status)
        except Exception:  # rendering a template may fail for the same reason
            log.exception("The error page also failed")
    return HttpResponse(plain, content_type="text/plain; charset=utf-8", status=status)


def is_away(error: BaseException | None) -> bool:
    """Return whether the error means that the database is unreachable, read-only or full."""
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
    # If PostgreSQL errors occur without a connection, they have no SQLSTATE.
    return not name or name.removeprefix("SQLITE_").startswith(NAMES)
