"""ASGI entry point, for servers that speak ASGI only."""

import os
from concurrent.futures import ThreadPoolExecutor

from django.core.asgi import get_asgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
application = get_asgi_application()

from tasks import installation  # noqa: E402

# In a thread: servers may import this inside their event loop, where Django refuses queries.
with ThreadPoolExecutor(1) as thread:
    thread.submit(installation.require).result()
