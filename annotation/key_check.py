"""The keys are those that the data were stored under: a row says so, in no way that tells a key.

Under another WORKER_KEY the same person is somebody new, and takes a task again; under another
IDENTITY_KEY hardly anybody can be paid. Neither would be noticed, so a server does not start with
one.
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
    """What is stored for the key: a keyed hash of its name, under the key itself."""
    key = getattr(settings, name)
    return salted_hmac("annotation.key_check", name, secret=key, algorithm="sha256").hexdigest()


def accept(*names: str) -> None:
    """From now on the keys of those names are the right ones, whatever was stored before."""
    for name in names:
        KeyCheck.objects.update_or_create(name=name, defaults={"value": _value(name)})


def wrong() -> str:
    """Which keys do not fit the data and what to do, in a sentence; else ""."""
    stored = dict(KeyCheck.objects.values_list("name", "value"))
    names = [
        name
        for name in NAMES
        if name in stored and not constant_time_compare(stored[name], _value(name))
    ]
    if not names:
        return ""
    return (
        f"{' and '.join(names)}: not the key with which this database's ids were stored. Restore"
        " it (a variable, or a file in var/) from the backup that the database is from. If it is"
        " lost for good, `manage.py accept_keys` says what that means."
    )


def require() -> None:
    """Called when a server starts. Raises ImproperlyConfigured for a key that does not fit.

    A database that cannot be asked now, or that no migration has made yet, is not refused.
    """
    try:
        sentence = wrong()
    except DatabaseError:
        return
    if sentence:
        raise ImproperlyConfigured(sentence)


def require_for_command() -> None:
    """Called by commands that use keys or move money. Raises CommandError as `require` does."""
    try:
        require()
    except ImproperlyConfigured as error:
        raise CommandError(str(error)) from None


def store_after_migrate(using: str, **_kwargs: Any) -> None:
    """Receiver of post_migrate: note the keys of a database that has none noted."""
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
