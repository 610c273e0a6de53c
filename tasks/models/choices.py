"""Constraints, arms, fields for languages and amounts, and a mixin for reading single rows."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from decimal import Decimal
from typing import Any, Self

from django.conf import settings
from django.core.validators import MinValueValidator
from django.db import connection, models, transaction
from django.db.models import Lookup, Q


def check(name: str, condition: Q | Lookup, message: str | None = None) -> models.CheckConstraint:
    return models.CheckConstraint(condition=condition, name=name, violation_error_message=message)


def unique(
    name: str, fields: list[str], condition: Q | None = None, message: str | None = None
) -> models.UniqueConstraint:
    return models.UniqueConstraint(
        fields=fields, condition=condition, name=name, violation_error_message=message
    )


def one_of(
    field: str, choices: type[models.TextChoices], name: str, or_empty: bool = False
) -> models.CheckConstraint:
    """Return a constraint that limits the field to the choices (or "" with `or_empty`)."""
    values = [*choices.values, ""] if or_empty else choices.values
    message = f"Choose one of these: {', '.join(map(str, choices.labels))}."
    return check(name, Q((f"{field}__in", values)), message)


class Arm(models.TextChoices):
    """An arm of a cross-task study: what a worker or model is trained on before the unseen task.

    In other studies, workers in the arm QUESTION see each test question without its context.
    """

    NONE = "", "no arm"
    UPSTREAM = "upstream", "upstream tasks"
    SHAM = "sham", "sham task"
    DIRECT = "direct", "nothing"
    QUESTION = "question", "question alone"


# Names that a design may give its upstream arms.
ARM_NAME = r"\A[a-z0-9][a-z0-9.-]{0,19}\Z"
# In these arms, there is no training before the task, and contexts are shown.
CELL_ARMS = (Arm.NONE, Arm.DIRECT)


class Row(models.Model):
    class Meta:
        abstract = True

    def store(self, **values: Any) -> None:
        for name, value in values.items():
            setattr(self, name, value)
        self.save(update_fields=list(values))

    @classmethod
    @contextmanager
    def locking(cls, pk: int) -> Iterator[Self]:
        """Open a transaction in which the row with this key is locked, and yield the row."""
        with transaction.atomic():
            yield cls._default_manager.select_for_update(no_key=True).get(pk=pk)

    @classmethod
    def first(cls, sql: str, value: Any) -> Self | None:
        """Return the first row that the SQL selects for this value, or None.

        `{}` in the SQL is replaced by the table's columns. Additional columns become attributes.
        """
        fields = cls._meta.concrete_fields
        sql = sql.format(", ".join([f'"{field.column}"' for field in fields]))
        if connection.vendor == "sqlite":
            return next(iter(cls._default_manager.raw(sql, [value])), None)
        with connection.cursor() as cursor:
            cursor.execute(connection.prepared(sql), [value])  # type: ignore[attr-defined]  # ours
            row = cursor.fetchone()
            names = [column.name for column in cursor.description]
        if row is None:
            return None
        values = [
            json.loads(value) if value and isinstance(field, models.JSONField) else value
            for field, value in zip(fields, row, strict=False)
        ]
        instance = cls.from_db(connection.alias, names, values)
        vars(instance).update(zip(names[len(values) :], row[len(values) :], strict=True))
        return instance


def languages() -> list[tuple[str, str]]:
    return settings.LANGUAGES


class LanguageField(models.CharField):
    """A language in settings.LANGUAGES, which migrations treat as text without choices."""

    def __init__(self, *args: Any, **kwargs: Any):
        kwargs |= {"max_length": 10, "choices": languages, "default": "en"}
        super().__init__(*args, **kwargs)

    def deconstruct(self) -> tuple[str, str, Any, Any]:
        name, _path, args, kwargs = super().deconstruct()
        del kwargs["choices"]
        return name, "django.db.models.CharField", args, kwargs


def money(help_text: str, default: Decimal = Decimal(0)) -> models.DecimalField:
    """Return a model field for a non-negative amount in a study's currency."""
    return models.DecimalField(
        max_digits=7, decimal_places=2, default=default, help_text=help_text,
        validators=[MinValueValidator(Decimal(0))],
    )  # fmt: skip
