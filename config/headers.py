"""Headers that Django and django-csp have no setting for."""

from collections.abc import Callable

from django.http import HttpRequest
from django.http.response import HttpResponseBase

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


def protected(
    get_response: Callable[[HttpRequest], HttpResponseBase],
) -> Callable[[HttpRequest], HttpResponseBase]:
    """Put `HEADERS` on every reply (tests/config/test_security_headers.py grades them all)."""

    def answer(request: HttpRequest) -> HttpResponseBase:
        response = get_response(request)
        for name, value in HEADERS.items():
            response.headers[name] = value
        return response

    return answer
