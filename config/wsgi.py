"""WSGI entry point: `granian --interface wsgi config.wsgi:application`."""

import gc
import os

from django.core.wsgi import get_wsgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
application = get_wsgi_application()

from django.db import connections  # noqa: E402
from django.urls import get_resolver  # noqa: E402

from annotation import guards, key_check  # noqa: E402
from config import users  # noqa: E402
from tasks import installation, retired  # noqa: E402

# Tables of an earlier time are refused before anything reads them.
retired.require()
# A folder of another database is refused before anything of it can be deleted.
installation.require()
# Keys that do not fit the data do harm that nobody sees.
key_check.require()
guards.say_what_is_missing()
users.say_first_owner_code()
connections.close_all()

# Load all views now rather than in the first request, while others wait for it.
get_resolver().url_patterns  # noqa: B018
# What is loaded stays for good: the collector need not look at it again and again.
gc.collect()
gc.freeze()
