"""How often one holder may ask: counted in the cache that all processes share."""

from typing import Any

from django.core.cache import caches
from django.core.cache.backends.base import BaseCache
from rest_framework.request import Request
from rest_framework.throttling import SimpleRateThrottle

from annotation.models import ApiToken


class PerHolder(SimpleRateThrottle):
    """100 requests a minute for each token, and for each researcher who asks from the browser."""

    rate = "100/min"

    @property
    def cache(self) -> BaseCache:
        return caches["shared"]

    def get_cache_key(self, request: Request, view: Any) -> str:
        if isinstance(request.auth, ApiToken):
            return f"api:token:{request.auth.pk}"
        return f"api:user:{request.user.pk}"
