"""What researchers of a team write to each other about an example."""

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.utils import timezone

from annotation.models.study import Study
from tasks.models import Example
from tasks.models.choices import one_of


class GoldOpinion(models.TextChoices):
    """What a comment says of the example's gold."""

    WRONG = "wrong", "wrong"
    RIGHT = "right", "right after all"


class ExampleComment(models.Model):
    """A remark on an example in a study, with author and time. Insert-only (guards.py).

    It may say what the gold is; the latest that does so counts. Scores stay as they are.
    """

    study = models.ForeignKey(Study, on_delete=models.PROTECT, related_name="comments")
    example = models.ForeignKey(Example, on_delete=models.PROTECT, related_name="+")
    text = models.TextField()
    gold = models.CharField("the gold is", max_length=5, choices=GoldOpinion, blank=True)
    by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    at = models.DateTimeField(default=timezone.now)

    class Meta:
        ordering = ["at", "pk"]
        constraints = [
            models.CheckConstraint(condition=~Q(text=""), name="a_comment_says_something"),
            one_of("gold", GoldOpinion, "a_gold_is_wrong_or_right_after_all", or_empty=True),
        ]

    def __str__(self) -> str:
        return f"{self.by} on {self.example_id}"
