"""Headers that Django and django-csp have no setting for."""

from collections.abc import Callable

from django.http import HttpRequest
from django.http.response import HttpResponseBase
from whitenoise.middleware import WhiteNoiseFileResponse

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


def protected(
    get_response: Callable[[HttpRequest], HttpResponseBase],
) -> Callable[[HttpRequest], HttpResponseBase]:
    """Put `HEADERS` on every reply (tests/config/test_security_headers.py grades them all)."""

    def answer(request: HttpRequest) -> HttpResponseBase:
        response = get_response(request)
        for name, value in HEADERS.items():
            response.headers[name] = value
        kind = response.headers.get("Content-Type", "")
        if isinstance(response, WhiteNoiseFileResponse) and kind.startswith(PARTS_OF_A_PAGE):
            for name in OF_DOCUMENTS:
                del response.headers[name]
        return response

    return answer
