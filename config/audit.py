"""Middleware and signal handlers that write requests to the audit log.

Step functions write entries in their own transactions. For any other change by a researcher, the
middleware adds an entry once the response is ready, so that new URLs are covered. Downloads and API
reads are also logged, at most once an hour per user or token and URL. No decisions depend on these
entries, which are the only rows written by a researcher's GET.
"""

import hashlib
from collections.abc import Callable
from functools import partial

from allauth.account import signals as account
from allauth.mfa import signals as mfa
from django.contrib.auth.models import User
from django.contrib.auth.signals import user_logged_in, user_logged_out
from django.dispatch import Signal
from django.http import HttpRequest, HttpResponse
from django.urls import ResolverMatch

from annotation.models import ApiToken, AuditEntry, Study, Topic, request_now
from annotation.web.access import POSTS
from annotation.web.fields import is_shown_again
from config.addresses import is_of_annotators
from tasks.clock import database_now

READS = ("GET", "HEAD")
# Pages that show identities, although they are not downloads.
IDENTITIES = {"recruit links": "names and links", "api_links": "names and links"}
# Declarations of POSTs, by the URL names of both pages and their API counterparts. All kinds of
# jobs have the same URL in the API.
ROWS = {row.twin: row for row in POSTS.values() if row.twin} | POSTS
ROWS["api_job_run"] = POSTS["release_run"]
# Forms that can also run a calculation on the current input without storing it.
CALCULATED = {"study_new", "study_edit"}


def audited(get_response: Callable[[HttpRequest], HttpResponse]) -> Callable[..., HttpResponse]:
    """Make the request available to step functions and log any changes they didn't log."""

    def answer(request: HttpRequest) -> HttpResponse:
        if is_of_annotators(request.path_info):
            return get_response(request)
        token = request_now.set(request)
        try:
            response = get_response(request)
            if match := request.resolver_match:
                _enter(request, response, match)
        finally:
            request_now.reset(token)
        return response

    return answer


def _enter(request: HttpRequest, response: HttpResponse, match: ResolverMatch) -> None:
    user = getattr(request, "user", None)
    if response.status_code >= 400 or not isinstance(user, User):
        return
    if request.method in READS:
        if action := _read_action(request, response, match):
            _once_an_hour(request, user, match, action, Topic.DOWNLOAD)
        return
    name = _name(match)
    if name in CALCULATED and "calculate" in request.POST:
        return
    # The same step has one row for its page and its counterpart in the API.
    step = getattr(getattr(match.func, "cls", None), "step", None)
    row = ROWS.get(step.row if step else match.url_name or "")
    topic = row.topic if row else Topic.RESULTS
    if topic is None or getattr(request, "has_entry", False) or is_shown_again(request):
        return
    action = name.replace("_", " ")
    if request.method != "POST":
        action = f"{request.method} {action}"
    if row and row.is_polled:
        _once_an_hour(request, user, match, action, topic)
    else:
        AuditEntry.objects.record(action, topic, study=_study(match), about=_about(match), by=user)


def _read_action(request: HttpRequest, response: HttpResponse, match: ResolverMatch) -> str:
    """Describe the data in the response for the log, or return "" for an ordinary page."""
    name = _name(match)
    if response.status_code != 200:
        return ""
    if action := IDENTITIES.get(f"{name} {request.GET.get('show', '')}".strip()):
        return f"looked up: {action}"
    if response.get("Content-Disposition", "").startswith("attachment"):
        return f"downloaded: {name.replace('_', ' ')}"
    is_program = isinstance(getattr(request, "auth", None), ApiToken)
    return f"read by a program: {name.replace('_', ' ')}" if is_program else ""


def _once_an_hour(
    request: HttpRequest, user: User, match: ResolverMatch, action: str, topic: str
) -> None:
    """Write an entry, unless this user or token already has the same one in this clock hour."""
    token = getattr(request, "auth", None)
    hour = database_now().strftime("%Y-%m-%dT%H")
    holder = f"{user.pk} {token.pk if isinstance(token, ApiToken) else ''}"
    key = hashlib.sha256(f"{holder} {action} {request.path_info} {hour}".encode()).hexdigest()
    values = {"study": partial(_study, match), "topic": topic, "about": _about(match)}
    AuditEntry.objects.get_or_create(once=key, defaults=values | {"what": action, "by": user})


def _name(match: ResolverMatch) -> str:
    """Return the URL name without the "api_" prefix, unless the prefixed name is listed."""
    name = match.url_name or "a URL without a name"
    return name if name in IDENTITIES else name.removeprefix("api_")


def _is_of_a_study(match: ResolverMatch) -> bool:
    return match.route.startswith(("studies/<str:name>/", "api/v1/studies/<str:name>/"))


def _study(match: ResolverMatch) -> Study | None:
    studies = Study.objects.filter(name=match.kwargs.get("name")).only("pk")
    return studies.first() if _is_of_a_study(match) else None


def _about(match: ResolverMatch) -> str:
    """Return all other URL arguments, such as a pseudonym or version, separated by spaces."""
    parts = match.captured_kwargs.items()  # type: ignore[attr-defined]
    values = [value for key, value in parts if key != "name" or not _is_of_a_study(match)]
    return " ".join(map(str, values))[:200]


# Maps each signal to the log entry for the account of its `user`.
ACCOUNTS = {
    user_logged_in: "signed in",
    user_logged_out: "signed out",
    account.password_changed: "password changed",
    account.password_set: "password set",
    account.password_reset: "password reset by email",
    mfa.authenticator_added: "two-factor authentication added",
    mfa.authenticator_removed: "two-factor authentication removed",
    mfa.authenticator_reset: "new recovery codes created",
}


def _record_signal(signal: Signal, action: str) -> None:
    def enter(user: User | None = None, **_kwargs: object) -> None:
        if isinstance(user, User):
            AuditEntry.objects.record(action, Topic.ACCOUNT, about=str(user), by=user)

    signal.connect(enter, weak=False, dispatch_uid=f"audit: {action}")


for signal, action in ACCOUNTS.items():
    _record_signal(signal, action)
