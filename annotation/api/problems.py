"""Errors as RFC 9457 has them: application/problem+json with a sentence and a code."""

from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

from rest_framework import exceptions
from rest_framework.response import Response
from rest_framework.views import exception_handler

MEDIA_TYPE = "application/problem+json"

# What any address may answer beside its own replies, for the OpenAPI document.
DOCUMENTED = {
    "400": "An unknown or invalid parameter",
    "401": "No token, or one that is unknown, revoked or expired",
    "403": "The token's scope or the role of its owner does not allow this",
    "404": "Not there, or not visible to the owner of the token",
    "405": "This address does not know that method",
    "429": "More than 100 requests in a minute; the header Retry-After says when to go on",
}
SHAPE = {
    "type": "object",
    "required": ["type", "title", "status", "code", "detail"],
    "properties": {
        "type": {"type": "string"},
        "title": {"type": "string", "description": "the name of the status"},
        "status": {"type": "integer"},
        "code": {"type": "string", "description": "what is wrong, for programs"},
        "detail": {"type": "string", "description": "what is wrong and what to do"},
        "fields": {
            "type": "object",
            "additionalProperties": {"type": "array", "items": {"type": "string"}},
            "description": "what is wrong with which field or parameter",
        },
    },
}


def problem(
    status: HTTPStatus, code: str, detail: str, fields: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """The members that every error has; `fields` where a value is wrong."""
    told: dict[str, Any] = {
        "type": "about:blank",
        "title": status.phrase,
        "status": status.value,
        "code": code,
        "detail": detail,
    }
    return told | ({"fields": fields} if fields else {})


def as_problem(error: Exception, context: dict[str, Any]) -> Response | None:
    """The reply to an error of a view; None for what is none of ours (500).

    Django's Http404 and PermissionDenied are known too; the headers of 401 and 429 stay.
    """
    response = exception_handler(error, context)
    if response is None:
        return None
    status = HTTPStatus(response.status_code)
    if isinstance(error, exceptions.ValidationError) and isinstance(response.data, dict):
        told = " ".join(str(why) for all_of in response.data.values() for why in all_of)
        members = problem(status, "invalid", told, response.data)
    elif isinstance(error, exceptions.ValidationError):
        members = problem(status, "invalid", "Some values are invalid.")
    else:
        detail = response.data["detail"]
        members = problem(status, detail.code, str(detail))
    response.data, response.content_type = members, MEDIA_TYPE
    return response


def document(result: dict[str, Any], **_: Any) -> dict[str, Any]:
    """Name these replies in every operation of the OpenAPI document (a drf-spectacular hook)."""
    result.setdefault("components", {}).setdefault("schemas", {})["Problem"] = SHAPE
    content = {MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}}
    for path in result["paths"].values():
        for operation in path.values():
            for status, words in DOCUMENTED.items():
                reply = {"description": words, "content": content}
                operation["responses"].setdefault(status, reply)
    return result
