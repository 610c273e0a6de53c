"""The images in examples. No access control: the address is the SHA-256 of the image."""

from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404
from django.views.decorators.cache import cache_control
from django.views.decorators.http import require_safe

from tasks.models import Image

YEAR = 365 * 24 * 3600  # seconds


@cache_control(public=True, immutable=True, max_age=YEAR)
@require_safe
def image(request: HttpRequest, name: str) -> HttpResponse:
    """Return an image. Only annotators who saw its example and the task's authors know it."""
    stored = get_object_or_404(Image, name=name)
    kind = "image/png" if name.endswith(".png") else "image/jpeg"
    return HttpResponse(bytes(stored.data), content_type=kind)
