"""ASGI entry point, for servers that speak ASGI only."""

import os
from concurrent.futures import ThreadPoolExecutor

from django.core.asgi import get_asgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
application = get_asgi_application()

from django.db import connections  # noqa: E402

from annotation import guards, key_check  # noqa: E402
from tasks import installation, retired  # noqa: E402


def _check_the_data() -> None:
    """The same as in config/wsgi.py, and in its order."""
    retired.require()
    installation.require()
    key_check.require()
    guards.say_what_is_missing()
    connections.close_all()


# In a thread: servers may import this inside their event loop, where Django refuses queries.
with ThreadPoolExecutor(1) as thread:
    thread.submit(_check_the_data).result()
