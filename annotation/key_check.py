"""Check that the keys are those that the data was stored under; rows hold keyed hashes.

With another WORKER_KEY, a returning person would be new and could repeat a task; with another
IDENTITY_KEY, most participants could not be paid. Both errors would be silent, so the server does
not start.
"""

from collections.abc import Sequence
from typing import Any

from django.conf import settings
from django.core.checks import CheckMessage, Error, Tags, register
from django.core.exceptions import ImproperlyConfigured
from django.core.management.base import CommandError
from django.db import DatabaseError, connections
from django.utils.crypto import constant_time_compare, salted_hmac

from annotation.models import KeyCheck

NAMES = ("WORKER_KEY", "IDENTITY_KEY")


def _value(name: str) -> str:
    """Return the stored value for a key: a keyed hash of its name under the key."""
    key = getattr(settings, name)
    return salted_hmac("annotation.key_check", name, secret=key, algorithm="sha256").hexdigest()


def accept(*names: str) -> None:
    """Store the current keys with those names as valid, replacing earlier ones."""
    for name in names:
        KeyCheck.objects.update_or_create(name=name, defaults={"value": _value(name)})


def wrong() -> str:
    """Return an error message with the wrong keys and what to do, or ""."""
    stored = dict(KeyCheck.objects.values_list("name", "value"))
    names = [
        name
        for name in NAMES
        if name in stored and not constant_time_compare(stored[name], _value(name))
    ]
    if not names:
        return ""
    return (
        f"{' and '.join(names)}: this is not the key that the ids in this database were stored"
        " with. Restore the key (a variable, or a file in var/) from the backup of this database."
        " If it is permanently lost, `manage.py accept_keys` explains the consequences."
    )


def require() -> None:
    """Raise ImproperlyConfigured for a wrong key; called when a server starts.

    It passes if the database is unreachable or has not been migrated yet.
    """
    try:
        sentence = wrong()
    except DatabaseError:
        return
    if sentence:
        raise ImproperlyConfigured(sentence)


def require_for_command() -> None:
    """Raise CommandError for a wrong key; called by commands that use keys or move money."""
    try:
        require()
    except ImproperlyConfigured as error:
        raise CommandError(str(error)) from None


def store_after_migrate(using: str, **_kwargs: Any) -> None:
    """Receiver of post_migrate: store the keys if none are stored."""
    if using == "default" and _has_table():
        stored = KeyCheck.objects.values_list("name", flat=True)
        accept(*(name for name in NAMES if name not in set(stored)))


def _has_table() -> bool:
    return KeyCheck._meta.db_table in connections["default"].introspection.table_names()


@register(Tags.database)
def keys_fit_the_data(
    *, databases: Sequence[str] | None = None, **_kwargs: Any
) -> list[CheckMessage]:
    """System check: `manage.py check --database default`, and every migrate."""
    if "default" not in (databases or []) or not _has_table():
        return []
    sentence = wrong()
    return [Error(sentence, id="annotation.E002")] if sentence else []
