"""Settings of that release; BREAK=kill or BREAK=fail stops its migration in the middle."""

from config.settings import *  # noqa: F403

MIGRATION_MODULES = {"annotation": "tests.next_release.migrations"}
