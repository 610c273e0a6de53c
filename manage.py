#!/usr/bin/env python
"""Django's command line."""

import os
import sys

if __name__ == "__main__":
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    from django.core.exceptions import ImproperlyConfigured
    from django.core.management import execute_from_command_line

    from config import logs

    logs.begin_command()
    try:
        execute_from_command_line(sys.argv)
    except ImproperlyConfigured as error:  # a setting or a key: the sentence says what to do
        sys.exit(f"{error}")
