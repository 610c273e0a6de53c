"""Check that the secret keys match the stored data.

With a different WORKER_KEY, a returning person would appear to be new and could repeat a task. With
a different IDENTITY_KEY, most participants could not be paid. Neither would be noticed, so the
server refuses to start.
"""

from typing import Any

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.core.management.base import CommandError
from django.db import DatabaseError
from django.utils.crypto import constant_time_compare, salted_hmac

from annotation.models import KeyCheck
from tasks.installation import check_database, has_table

NAMES = ("WORKER_KEY", "IDENTITY_KEY")


def _value(name: str) -> str:
    """Return the value stored for a key: a hash of the key's name, keyed with the key itself."""
    key = getattr(settings, name)
    return salted_hmac("annotation.key_check", name, secret=key, algorithm="sha256").hexdigest()


def accept(*names: str) -> None:
    """Store the current keys with these names as valid, replacing the previous ones."""
    for name in names:
        KeyCheck.objects.update_or_create(name=name, defaults={"value": _value(name)})


def problem() -> str:
    """Return an error message that names the keys that don't match, or "" if all do."""
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
    """Raise ImproperlyConfigured if a key is wrong. An unmigrated database always passes."""
    try:
        message = problem()
    except DatabaseError:
        return
    if message:
        raise ImproperlyConfigured(message)


def require_for_command() -> None:
    """Raise CommandError if a key is wrong. Called by commands that use keys or move money."""
    try:
        require()
    except ImproperlyConfigured as error:
        raise CommandError(str(error)) from None


def store_after_migrate(using: str, **_kwargs: Any) -> None:
    if using == "default" and has_table(KeyCheck):
        stored = KeyCheck.objects.values_list("name", flat=True)
        accept(*(name for name in NAMES if name not in set(stored)))


check_database(KeyCheck, problem, "annotation.E002")
