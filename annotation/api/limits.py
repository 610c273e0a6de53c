"""How often one holder may ask: counted in the cache that all processes share.

Annotators are counted by each process for itself: an answer waits for no count in the database.
"""

import hashlib
import time
from typing import Any

from django.core.cache import cache, caches
from django.core.cache.backends.base import BaseCache
from rest_framework.request import Request
from rest_framework.throttling import BaseThrottle, SimpleRateThrottle

from annotation.models import ApiToken


class PerHolder(SimpleRateThrottle):
    """100 requests a minute for each token, and for each researcher who asks from the browser."""

    rate = "100/min"

    @property
    def cache(self) -> BaseCache:
        return cache

    def get_cache_key(self, request: Request, view: Any) -> str:
        if isinstance(request.auth, ApiToken):
            return f"api:token:{request.auth.pk}"
        return f"api:user:{request.user.pk}"


class PerParticipation(BaseThrottle):
    """3000 requests in a minute of the clock for each participation, in each process.

    A fast model answers within milliseconds; a loop that has lost its way is stopped.
    """

    limit, window = 3000, 60  # requests; seconds

    def allow_request(self, request: Request, view: Any) -> bool:
        holder = hashlib.sha256(str(request.auth).encode()).hexdigest()
        key = f"api:work:{holder}:{int(time.time() // self.window)}"
        own_cache = caches["process"]
        own_cache.add(key, 0, self.window)
        try:
            return own_cache.incr(key) <= self.limit
        except ValueError:  # it ran out, or made place for another, in between: a new count begins
            return True

    def wait(self) -> float:
        return self.window - time.time() % self.window
