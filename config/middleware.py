"""Middleware that sets headers on every response and rejects malformed requests."""

import codecs
import contextlib
import secrets
from collections.abc import Callable
from typing import Any

from django.conf import settings
from django.core.exceptions import TooManyFilesSent
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase, StreamingHttpResponse
from django.http.request import UnreadablePostError
from django.shortcuts import render
from django.views.defaults import page_not_found
from whitenoise.middleware import WhiteNoiseFileResponse

from annotation.web import problems
from annotation.web.authentication import has_token
from config import logs
from config.addresses import is_of_annotators
from tasks import disk
from tasks.uploads import MAX_BODY, MAX_FILES_ATTRIBUTE

# Browser features that our pages do not use. All responses disable them.
UNUSED = (
    "accelerometer", "autoplay", "camera", "display-capture", "encrypted-media", "geolocation",
    "gyroscope", "magnetometer", "microphone", "midi", "payment", "publickey-credentials-create",
    "publickey-credentials-get", "screen-wake-lock", "usb", "xr-spatial-tracking",
)  # fmt: skip
HEADERS = {
    "Cache-Control": "private",  # otherwise, some shared caches store CSV files and ZIPs
    "Content-Security-Policy": settings.CONTENT_SECURITY_POLICY,
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": ", ".join(f"{feature}=()" for feature in UNUSED),
}
# Browsers ignore these headers on scripts, style sheets, fonts and images in a page. On their first
# visit, annotators load about twenty such files, perhaps over a slow connection.
DOCUMENT_HEADERS = (
    "Content-Security-Policy", "Cross-Origin-Opener-Policy", "Permissions-Policy",
    "Referrer-Policy", "X-Frame-Options",
)  # fmt: skip
PARTS_OF_A_PAGE = ("text/css", "text/javascript", "application/javascript", "font/", "image/")


Answer = Callable[[HttpRequest], HttpResponseBase]


def security_headers(get_response: Answer) -> Answer:
    """Set `HEADERS` on every response and give each request an ID for logs and the response."""

    def answer(request: HttpRequest) -> HttpResponseBase:
        # Not reset, because Django logs rejected requests after the middleware has returned.
        logs.request_id.set(secrets.token_hex(6))
        response = get_response(request)
        if is_of_annotators(request.path_info):  # Back must not restore an answered question
            response.headers.setdefault("Cache-Control", "no-store, private")
        elif response.headers.get("Content-Type", "").startswith("text/html"):
            # Hides how well a page compresses, which could reveal secrets in it (BREACH).
            response.headers["X-Padding"] = "x" * secrets.randbelow(100)
        for name, value in HEADERS.items():
            response.headers.setdefault(name, value)
        if settings.DEBUG and response.status_code in (404, 500):  # Django's have inline styles
            del response.headers["Content-Security-Policy"]
        if not isinstance(response, WhiteNoiseFileResponse):
            response.headers["X-Request-ID"] = logs.request_id.get()
        # Static files are not logged, so they get no request ID.
        elif response.headers.get("Content-Type", "").startswith(PARTS_OF_A_PAGE):
            for name in DOCUMENT_HEADERS:
                del response.headers[name]
        return response

    return answer


LONGEST_LENGTH = 18  # digits in a Content-Length header


class CheckedRequests:
    """Middleware that rejects malformed requests, and bodies that a URL does not accept.

    - HEAD is answered like GET without the body, at every URL, for monitors and link checkers.
    - 404, 400 or 415 for input that the database or Django cannot handle: U+0000 in a path,
      a query or a cookie, or a body in a charset other than UTF-8.
    - 413 for a body that is too large for the URL, before any of it is read. Only views with
      tasks.uploads.takes_files accept files, from signed-in users or programs with a token.
      All other views accept up to MAX_FORM bytes, which are never written to disk.
    - 507 if the disk is full, and 400 if Content-Length is not a number.
    """

    def __init__(self, get_response: Answer) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        if request.method != "HEAD":
            return self._refusal(request) or self.get_response(request)
        request.method = "GET"
        response = self._refusal(request) or self.get_response(request)
        request.method = "HEAD"
        if isinstance(response, StreamingHttpResponse):
            response.streaming_content = []
        elif isinstance(response, HttpResponse):
            response.content = b""
        return response

    def _refusal(self, request: HttpRequest) -> HttpResponse | None:
        if "\0" in request.path_info:
            return page_not_found(request, Http404())
        if "%00" in request.META.get("QUERY_STRING", "") or any(
            "\0" in text for cookie in request.COOKIES.items() for text in cookie
        ):
            return _refused(request, 400, "The URL or a cookie contains an invalid character.")
        if not _is_utf_8((request.content_params or {}).get("charset", "utf-8")):
            return _refused(request, 415, "Send the request in UTF-8. Nothing was stored.")
        return None

    def process_view(
        self, request: HttpRequest, view: Callable[..., Any], args: Any, kwargs: Any
    ) -> HttpResponse | None:
        announced = request.META.get("CONTENT_LENGTH") or "0"
        if not (announced.isascii() and announced.isdecimal() and len(announced) <= LONGEST_LENGTH):
            return _refused(request, 400, "Nothing was stored: Content-Length is not a number.")
        if int(announced) <= settings.MAX_FORM:
            _count_files(request, view)
            return None
        limit = getattr(view, MAX_BODY, 0)
        if limit and not _may_send_files(request):
            return _refused(request, 413, "Nothing was stored. Sign in first, then send the files.")
        limit = max(limit, settings.MAX_FORM)
        if int(announced) > limit:
            return _refused(
                request, 413,
                f"Nothing was stored. This URL accepts at most {limit // 1_000_000} MB in"
                " total.",
            )  # fmt: skip
        refused = _read_files(request)
        if refused is None:
            _count_files(request, view)
        return refused


def _is_utf_8(charset: str) -> bool:
    try:
        return codecs.lookup(charset.strip("\"'")).name == "utf-8"
    except (LookupError, ValueError):
        return False


def _may_send_files(request: HttpRequest) -> bool:
    return request.user.is_authenticated or has_token(request)


def _count_files(request: HttpRequest, view: Callable[..., Any]) -> None:
    """Raise TooManyFilesSent (400) if the request has more files than the view accepts."""
    limit = getattr(view, MAX_FILES_ATTRIBUTE, None)
    if limit is None or not _may_send_files(request):
        return
    if sum(len(files) for _field, files in request.FILES.lists()) > limit:
        raise TooManyFilesSent(f"more than {limit} files")


def _read_files(request: HttpRequest) -> HttpResponse | None:
    """Read the body, including files. Return a 507 response if the disk is full, otherwise None."""
    try:
        request.POST  # noqa: B018
    except UnreadablePostError:
        raise
    except OSError as error:
        if not disk.is_full(error):
            raise
        for handler in request.upload_handlers:
            with contextlib.suppress(OSError):  # closing a file can fail on a full disk
                handler.upload_interrupted()
        return _refused(request, 507, f"Nothing was stored. {disk.full_message()}")
    return None


def _refused(request: HttpRequest, status: int, message: str) -> HttpResponse:
    """Return the message as a page, as plain text for htmx, or as JSON for the API."""
    if request.path_info.startswith("/api/"):
        return problems.reply(status, message)
    if request.headers.get("HX-Request"):
        return HttpResponse(message, content_type="text/plain; charset=utf-8", status=status)
    return render(request, "refused.html", {"sentence": message}, status=status)
