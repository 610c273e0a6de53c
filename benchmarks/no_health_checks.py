"""The settings without the check of kept connections: run.py measures what it costs."""

from config.settings import *  # noqa: F403
from config.settings import DATABASES

DATABASES["default"]["CONN_HEALTH_CHECKS"] = False
