"""Which database this is, so that no folder of another one is used (tasks/installation.py)."""

import uuid

from django.db import models
from django.db.models import Q


class Installation(models.Model):
    """This database, in its one row: the folder var/ that belongs to it holds the same id."""

    # True in the one row that there is.
    only = models.BooleanField(default=True, unique=True, editable=False)
    folder_id = models.UUIDField(default=uuid.uuid4, editable=False)
    # When the first visit created the first account: once, whatever happens to that account.
    owned_since = models.DateTimeField(null=True, editable=False)

    class Meta:
        constraints = [
            models.CheckConstraint(condition=Q(only=True), name="there_is_one_installation")
        ]

    def __str__(self) -> str:
        return f"installation {self.folder_id}"
