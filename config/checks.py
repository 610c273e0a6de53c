"""What `manage.py check --deploy` says of a set-up that works but is not meant."""

import os
from typing import Any

from django.conf import settings
from django.core.checks import Tags, Warning, register


@register(Tags.security, deploy=True)
def proxies_are_counted(**_options: Any) -> list[Warning]:
    """HTTPS=1 says that there is a proxy; without its number all clients have its address."""
    if not settings.HTTPS or settings.TRUSTED_PROXIES:
        return []
    return [
        Warning(
            "HTTPS=1 is meant for a server behind a proxy, but TRUSTED_PROXIES is 0.",
            hint="Set TRUSTED_PROXIES=1 (or the number of proxies): otherwise anybody who tries"
            " passwords locks everybody out, as all clients share the proxy's address.",
            id="config.W001",
        )
    ]


@register(Tags.security, deploy=True)
def keys_are_set(**_options: Any) -> list[Warning]:
    """Keys that were made in var/ work, but a second machine or a lost folder has others."""
    return [
        Warning(
            f"{name} is not set: the key is read from a file in {settings.VAR_DIR}.",
            hint=f"Set {name} in the environment of every server and command, from a store that is"
            " backed up apart from the database (docs/operating.md).",
            id=f"config.W00{number}",
        )
        for number, name in enumerate(("WORKER_KEY", "IDENTITY_KEY"), start=2)
        if not os.environ.get(name)
    ]
