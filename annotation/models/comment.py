"""What researchers of a team write to each other about an example."""

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.utils import timezone

from annotation.models.study import Study
from tasks.models import Example


class ExampleComment(models.Model):
    """A remark on an example in a study, with author and time. Insert-only (guards.py)."""

    study = models.ForeignKey(Study, on_delete=models.PROTECT, related_name="comments")
    example = models.ForeignKey(Example, on_delete=models.PROTECT, related_name="+")
    text = models.TextField()
    by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    at = models.DateTimeField(default=timezone.now)

    class Meta:
        ordering = ["at", "pk"]
        constraints = [
            models.CheckConstraint(condition=~Q(text=""), name="a_comment_says_something")
        ]

    def __str__(self) -> str:
        return f"{self.by} on {self.example_id}"
