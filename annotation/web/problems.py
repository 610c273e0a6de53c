"""API errors in the format of RFC 9457: application/problem+json with a message and a code."""

import json
from collections.abc import Mapping
from http import HTTPStatus
from pathlib import Path
from typing import Any

from django.http import HttpResponse, JsonResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils.html import format_html
from django.utils.http import urlencode
from rest_framework import exceptions
from rest_framework.permissions import IsAuthenticated
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import exception_handler

from tasks import disk

MEDIA_TYPE = "application/problem+json"

# For the OpenAPI document: the schema of an error, and the errors that any operation may return or
# only operations that change data.
DOCUMENTED = json.loads(Path(__file__).with_name("problems.json").read_text(encoding="utf-8"))


class Unprocessable(exceptions.ValidationError):
    """Raised if a body has invalid values. `detail` maps fields to messages."""

    status_code = HTTPStatus.UNPROCESSABLE_ENTITY


class Conflict(exceptions.APIException):
    status_code = HTTPStatus.CONFLICT
    default_code = "conflict"


class NoRoom(exceptions.APIException):
    status_code = HTTPStatus.INSUFFICIENT_STORAGE
    default_code = "disk_full"


def problem(
    status: HTTPStatus, code: str, detail: str, fields: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """Return the members of an error object, including `fields` if some values are invalid."""
    members: dict[str, Any] = {
        "type": "about:blank",
        "title": status.phrase,
        "status": status.value,
        "code": code,
        "detail": detail,
    }
    return members | ({"fields": fields} if fields else {})


def as_problem(error: Exception, context: dict[str, Any]) -> HttpResponse | None:
    """Return the response to an exception in an API view, or None for unknown exceptions (500).

    The headers of 401 and 429 are preserved. If the request has no token or session, the response
    explains how to get access. Browsers get a page with links for signing in.
    """
    if isinstance(error, disk.DiskFull):
        error = NoRoom(str(error))
    if (
        isinstance(error, exceptions.NotAuthenticated)
        and IsAuthenticated in context["view"].permission_classes
    ):
        error.detail = exceptions.ErrorDetail(HOW_TO_ENTER, "not_authenticated")
    response = exception_handler(error, context)
    if response is None:
        return None
    is_browser = "text/html" in context["request"].headers.get("Accept", "")
    if response.status_code == HTTPStatus.UNAUTHORIZED and is_browser:
        return _sign_in_page(context["request"], response)
    status = HTTPStatus(response.status_code)
    if isinstance(error, exceptions.ValidationError) and isinstance(response.data, dict):
        fields = {name: _messages(found) for name, found in response.data.items()}
        members = problem(status, "invalid", " ".join(_messages(fields)), fields)
    elif isinstance(error, exceptions.ValidationError):
        members = problem(status, "invalid", "Some values are invalid.")
    else:
        detail = response.data["detail"]
        members = problem(status, detail.code, str(detail))
    response.data, response.content_type = members, MEDIA_TYPE
    return response


def _messages(found: Any) -> list[str]:
    """Return all messages about a field, including those about items in its list."""
    if isinstance(found, str):
        return [found]
    parts = found.values() if isinstance(found, Mapping) else found
    return [message for part in parts for message in _messages(part)]


def _sign_in_page(request: Request, refused: Response) -> HttpResponse:
    back = urlencode({"next": request.get_full_path()})
    explanation = format_html(
        'To open this URL in a browser, <a href="{}?{}">sign in</a>. Programs send a token;'
        ' create one under <a href="{}">API tokens</a> in your account.',
        reverse("login"),
        back,
        reverse("tokens"),
    )
    page = render(request, "refused.html", {"sentence": explanation}, status=401)
    page["WWW-Authenticate"] = refused["WWW-Authenticate"]
    return page


def reply(status: int, message: str) -> JsonResponse:
    """Return the error response to a request that is rejected before any view runs."""
    members = problem(HTTPStatus(status), "refused", message)
    return JsonResponse(members, status=status, content_type=MEDIA_TYPE)


# Shown for requests to researchers' URLs without a token or session.
HOW_TO_ENTER = (
    "Send a token, as in Authorization: Bearer handful_...; create one under API tokens (/tokens/)."
)
# Maps status codes to the error codes and messages for server errors.
FAILED = {
    500: ("failed", "Something went wrong here. If you report it, include the request id."),
    503: (
        "database_away",
        "The database is unavailable, read-only or full. Try again in a moment. This request may"
        " or may not have changed data.",
    ),
}


def failed(request_id: str, status: int = 500) -> JsonResponse:
    """Return the error response for a status in FAILED, with the request ID from the log."""
    members = problem(HTTPStatus(status), *FAILED[status]) | {"request": request_id}
    return JsonResponse(members, status=status, content_type=MEDIA_TYPE)


def document(result: dict[str, Any], **_: Any) -> dict[str, Any]:
    """Add error responses to all operations in the OpenAPI document (drf-spectacular hook)."""
    result.setdefault("components", {}).setdefault("schemas", {})["Problem"] = DOCUMENTED["schema"]
    content = {MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}}
    for path in result["paths"].values():
        for method, operation in path.items():
            descriptions = DOCUMENTED["any operation"]
            if method != "get":
                descriptions = descriptions | DOCUMENTED["changes"]
            for status, description in descriptions.items():
                response = {"description": description, "content": content}
                operation["responses"].setdefault(status, response)
            if method == "get":
                unchanged = {"description": "Nothing has changed since the ETag in If-None-Match"}
                operation["responses"].setdefault("304", unchanged)
    return result
