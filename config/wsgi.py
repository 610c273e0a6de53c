"""WSGI entry point, run by `manage.py serve` with granian."""

import gc
import os

from django.core.wsgi import get_wsgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
application = get_wsgi_application()

from django.db import connections  # noqa: E402
from django.urls import get_resolver  # noqa: E402

from annotation import guards, key_check  # noqa: E402
from config import users  # noqa: E402
from tasks import installation  # noqa: E402

# Reject tables from before 0.2.0, and a data folder that belongs to another database,
# before any data is read or any file is deleted.
installation.require()
# Keys that do not match the database would silently corrupt data.
key_check.require()
guards.say_what_is_missing()
users.say_first_owner_code()
connections.close_all()

# Load all views now. Otherwise, the first request would, while others wait.
get_resolver().url_patterns  # noqa: B018
# Loaded modules stay in memory until exit, so the garbage collector doesn't have to scan them.
gc.collect()
gc.freeze()
