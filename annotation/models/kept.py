"""What is kept beside a study for ever: its frozen design and its consent texts."""

from django.conf import settings
from django.db import models
from django.utils import timezone

from annotation.models.study import Study


class StudyManifest(models.Model):
    """The frozen design of a study that is no draft, large and read by few pages (guards.py).

    Its SHA-256 is the study's `manifest_hash`.
    """

    study = models.OneToOneField(
        Study, on_delete=models.CASCADE, primary_key=True, related_name="stored_manifest"
    )
    text = models.TextField()

    def __str__(self) -> str:
        return f"manifest of {self.study}"


class ConsentText(models.Model):
    """One version of the text that workers of a study consent to (Markdown); never changed."""

    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="consent_texts")
    version = models.PositiveIntegerField()
    text = models.TextField()
    since = models.DateTimeField(default=timezone.now)

    class Meta:
        ordering = ["study", "version"]
        constraints = [
            models.UniqueConstraint(
                fields=["study", "version"], name="a_version_of_a_consent_text_is_one_text"
            )
        ]

    def __str__(self) -> str:
        return f"{self.study}, consent text {self.version}"


class StudyTombstone(models.Model):
    """Says that a study was deleted: what there was, when it went, and by whom.

    The study's own row stays with its design, its money and its counts; nobody reaches it any more.
    """

    study = models.OneToOneField(Study, on_delete=models.PROTECT, related_name="tombstone")
    manifest_hash = models.CharField(max_length=64)
    participations = models.JSONField()  # status -> how many, before the deletion
    turns_erased = models.PositiveIntegerField()
    answers_erased = models.PositiveIntegerField()
    identities_purged = models.PositiveIntegerField(default=0)
    cents_earned = models.IntegerField()
    by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    at = models.DateTimeField(default=timezone.now)

    class Meta:
        ordering = ["-at"]

    def __str__(self) -> str:
        return f"tombstone of {self.study}"
