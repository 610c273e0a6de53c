"""What annotators told to the questions of a study's own; insert-only (annotation/guards.py)."""

from django.db import models

from annotation.models.participation import Participation
from tasks.clock import database_now
from tasks.models.choices import one_of


class Moment(models.TextChoices):
    BEFORE = "before"
    AFTER = "after"


class OwnAnswer(models.Model):
    """The answer to one question, "" where it was left out; erased when they withdraw.

    `question` is its id in the design (study/own_questions.py), which is frozen.
    """

    Moment = Moment

    participation = models.ForeignKey(
        Participation, on_delete=models.PROTECT, related_name="own_answers", db_index=False
    )
    moment = models.CharField(max_length=6, choices=Moment)
    question = models.CharField(max_length=40)
    answer = models.TextField(blank=True)
    at = models.DateTimeField(default=database_now)

    class Meta:
        ordering = ["pk"]
        constraints = [
            one_of("moment", Moment, "an_own_question_is_asked_before_or_after"),
            models.UniqueConstraint(
                fields=["participation", "question"], name="an_own_question_is_answered_once"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.question} of {self.participation}"
