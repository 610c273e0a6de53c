"""The database keeps each field with choices to these: a CHECK that refuses another value."""

from django.db import models
from django.db.models import Q


def one_of(
    field: str, choices: type[models.TextChoices], name: str, or_empty: bool = False
) -> models.CheckConstraint:
    """The constraint of that name: the field holds one of the choices (`or_empty`: or "")."""
    values = [*choices.values, ""] if or_empty else choices.values
    return models.CheckConstraint(
        condition=Q((f"{field}__in", values)),
        name=name,
        violation_error_message=f"Choose one of these: {', '.join(map(str, choices.labels))}.",
    )
