"""Records about a study that are not part of its design: texts, comments, answers, comparisons."""

from django.contrib.auth.models import User
from django.db import models
from django.db.models import Q
from django.utils import timezone

from annotation.models.study import Study
from tasks.models import Example, PredictionFile
from tasks.models.choices import check, one_of, unique


class StudyManifest(models.Model):
    """A study's frozen design (unless it is a draft), in its own table because it is large."""

    study = models.OneToOneField(
        Study, on_delete=models.CASCADE, primary_key=True, related_name="stored_manifest"
    )
    text = models.TextField()


class ConsentText(models.Model):
    """A version of a study's consent text, in Markdown. Never changed."""

    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="consent_texts")
    version = models.PositiveIntegerField()
    text = models.TextField()
    since = models.DateTimeField(default=timezone.now)

    class Meta:
        ordering = ["study", "version"]
        constraints = [unique("a_version_of_a_consent_text_is_one_text", ["study", "version"])]


class StudyTombstone(models.Model):
    """Documents the deletion of a study: its counts, who deleted it, and when.

    The study's row remains, along with its design, money and counts, but is no longer accessible.
    """

    study = models.OneToOneField(Study, on_delete=models.PROTECT, related_name="tombstone")
    manifest_hash = models.CharField(max_length=64)
    participations = models.JSONField()  # maps each status to its count before deletion
    turns_erased = models.PositiveIntegerField()
    answers_erased = models.PositiveIntegerField()
    identities_purged = models.PositiveIntegerField(default=0)
    cents_earned = models.IntegerField()
    by = models.ForeignKey(User, on_delete=models.PROTECT, related_name="+")
    at = models.DateTimeField(default=timezone.now)

    class Meta:
        ordering = ["-at"]


class GoldOpinion(models.TextChoices):
    WRONG = "wrong", "wrong"
    RIGHT = "right", "right"


class ExampleComment(models.Model):
    """A comment on an example of a study. Insert-only (guards.py).

    It may call the gold answer wrong or right. The latest such comment counts; scores never change.
    """

    study = models.ForeignKey(Study, on_delete=models.PROTECT, related_name="comments")
    example = models.ForeignKey(Example, on_delete=models.PROTECT, related_name="+")
    text = models.TextField()
    gold = models.CharField("the gold is", max_length=5, choices=GoldOpinion, blank=True)
    by = models.ForeignKey(User, on_delete=models.PROTECT, related_name="+")
    at = models.DateTimeField(default=timezone.now)

    class Meta:
        ordering = ["at", "pk"]
        constraints = [
            check("a_comment_says_something", ~Q(text="")),
            one_of("gold", GoldOpinion, "a_gold_is_wrong_or_right_after_all", or_empty=True),
        ]


class ComparedFile(models.Model):
    """A prediction file that was compared with annotators at the time when the study closed.

    The file can no longer be deleted, because Holm's correction includes its comparison.
    """

    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="compared_files")
    file = models.ForeignKey(PredictionFile, on_delete=models.PROTECT, related_name="+")

    class Meta:
        ordering = ["study", "pk"]
        constraints = [unique("a_file_is_once_in_the_family_of_a_study", ["study", "file"])]


class ReportAnswer(models.Model):
    """An answer to an item of the report. For `sample`: a JSON table (monitoring/sample.py)."""

    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="report_answers")
    item = models.CharField(max_length=10)
    text = models.TextField()
    by = models.ForeignKey(User, on_delete=models.PROTECT, related_name="+")
    at = models.DateTimeField(default=timezone.now)

    class Meta:
        ordering = ["study", "item"]
        constraints = [unique("an_item_of_a_report_has_one_answer", ["study", "item"])]
