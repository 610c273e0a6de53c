"""What a researcher adds to the report of a study, where the platform cannot know."""

from django.conf import settings
from django.db import models
from django.utils import timezone

from annotation.models.study import Study


class ReportAnswer(models.Model):
    """The researcher's answer to one field of the report's short form or title page, by its name.

    `sample` is the table that was made of a demographic export, as JSON (monitoring/sample.py).
    """

    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="report_answers")
    item = models.CharField(max_length=10)
    text = models.TextField()
    by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    at = models.DateTimeField(default=timezone.now)

    class Meta:
        ordering = ["study", "item"]
        constraints = [
            models.UniqueConstraint(
                fields=["study", "item"], name="an_item_of_a_report_has_one_answer"
            )
        ]

    def __str__(self) -> str:
        return f"{self.study}, item {self.item}"
