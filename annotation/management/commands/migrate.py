"""Django's migrate command, without the check for guards that migrations restore."""

from typing import Any

from django.core.checks import registry
from django.core.management.commands import migrate

from annotation import guards


class Command(migrate.Command):
    def check(self, *args: Any, **kwargs: Any) -> None:
        # Missing guards would otherwise prevent the migration that adds or restores them.
        checks = registry.registry.registered_checks
        checks.discard(guards.answers_are_guarded)
        try:
            super().check(*args, **kwargs)
        finally:
            checks.add(guards.answers_are_guarded)  # type: ignore[arg-type]  # it takes any keyword
