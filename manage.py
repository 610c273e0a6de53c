#!/usr/bin/env python
"""Django's command line. In the wheel, this file is the package `handful_server`."""

import os
import sys
from pathlib import Path

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
if __name__ == "handful_server":
    sys.path.insert(0, str(Path(__file__).parent))  # the other packages are inside this one
    os.environ.setdefault("HANDFUL_VAR", str(Path("handful-data").absolute()))


def main() -> None:
    from django.core.exceptions import ImproperlyConfigured
    from django.core.management import execute_from_command_line

    from config import logs

    logs.begin_command()
    try:
        execute_from_command_line(sys.argv)
    except ImproperlyConfigured as error:  # a setting or a key: the sentence says what to do
        sys.exit(f"{error}")


if __name__ == "__main__":
    main()
