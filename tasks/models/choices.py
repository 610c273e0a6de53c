"""Database constraints for fields with choices, and the field for languages."""

from typing import Any

from django.conf import settings
from django.db import models
from django.db.models import Q


def one_of(
    field: str, choices: type[models.TextChoices], name: str, or_empty: bool = False
) -> models.CheckConstraint:
    """Return a constraint: the field is one of the choices (`or_empty`: or "")."""
    values = [*choices.values, ""] if or_empty else choices.values
    return models.CheckConstraint(
        condition=Q((f"{field}__in", values)),
        name=name,
        violation_error_message=f"Choose one of these: {', '.join(map(str, choices.labels))}.",
    )


def languages() -> list[tuple[str, str]]:
    return settings.LANGUAGES


class LanguageField(models.CharField):
    """A language of settings.LANGUAGES.

    A new catalogue can add a language, so migrations treat the field as text without choices.
    """

    def __init__(self, *args: Any, **kwargs: Any):
        kwargs |= {"max_length": 10, "choices": languages, "default": "en"}
        super().__init__(*args, **kwargs)

    def deconstruct(self) -> tuple[str, str, Any, Any]:
        name, _path, args, kwargs = super().deconstruct()
        del kwargs["choices"]
        return name, "django.db.models.CharField", args, kwargs
