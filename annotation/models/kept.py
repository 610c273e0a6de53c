"""What is kept beside a study for ever: its frozen design and its consent texts."""

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
