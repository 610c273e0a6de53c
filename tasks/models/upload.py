"""Files on their way to becoming a task (tasks/uploads.py)."""

import uuid

from django.conf import settings
from django.db import models

from tasks.models.job import Job


class TaskUpload(models.Model):
    """Files on their way to becoming a task, in a folder of their own; tasks/uploads.py reads them.

    Nothing of it is a task before it is confirmed. It is gone after that, or after a day.
    """

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    owner = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="uploads"
    )
    # A card that ships with the project; empty: the task.toml among the files.
    card_name = models.CharField(max_length=40, blank=True)
    # Sentences about files that were not taken when files were last added.
    refused = models.JSONField(default=list)
    # Counts changes of the files or the card: what was found out before holds no longer.
    revision = models.PositiveIntegerField(default=0)
    # The check of this revision, or the import once it is confirmed.
    job = models.ForeignKey(Job, on_delete=models.SET_NULL, null=True, related_name="+")
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["-created_at"]

    def __str__(self) -> str:
        return f"upload of {self.created_at:%Y-%m-%d %H:%M} UTC"
