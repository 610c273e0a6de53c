"""Headers that Django and django-csp have no setting for."""

import secrets
from collections.abc import Callable

from django.http import HttpRequest
from django.http.response import HttpResponseBase
from whitenoise.middleware import WhiteNoiseFileResponse

from config import logs

# Nothing of a browser that the pages do not use.
UNUSED = (
    "accelerometer", "autoplay", "camera", "display-capture", "encrypted-media", "geolocation",
    "gyroscope", "magnetometer", "microphone", "midi", "payment", "publickey-credentials-create",
    "publickey-credentials-get", "screen-wake-lock", "usb", "xr-spatial-tracking",
)  # fmt: skip
HEADERS = {
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": ", ".join(f"{feature}=()" for feature in UNUSED),
}
# Browsers heed these on what is shown by itself: beside a script, a style sheet or a font they say
# nothing, and a first visit of an annotator loads twenty of those over a slow line.
OF_DOCUMENTS = (
    "Content-Security-Policy", "Cross-Origin-Opener-Policy", "Permissions-Policy",
    "Referrer-Policy", "X-Frame-Options",
)  # fmt: skip
PARTS_OF_A_PAGE = ("text/css", "text/javascript", "application/javascript", "font/")


def on_every_reply(
    get_response: Callable[[HttpRequest], HttpResponseBase],
) -> Callable[[HttpRequest], HttpResponseBase]:
    """Put `HEADERS` on every reply (tests/config/test_security_headers.py grades them all).

    Each request also gets an id, for its lines in the log, and as a header of the reply.
    """

    def answer(request: HttpRequest) -> HttpResponseBase:
        # Not taken back at the end: Django logs a refused request after its middleware is through.
        logs.request_id.set(secrets.token_hex(6))
        response = get_response(request)
        for name, value in HEADERS.items():
            response.headers[name] = value
        if not isinstance(response, WhiteNoiseFileResponse):
            response.headers["X-Request-ID"] = logs.request_id.get()
        # A static file leaves no line in the log, and twenty of them come with a first visit.
        elif response.headers.get("Content-Type", "").startswith(PARTS_OF_A_PAGE):
            for name in OF_DOCUMENTS:
                del response.headers[name]
        return response

    return answer
