"""The files of predictions in the family of comparisons of a closed study."""

from django.db import models

from annotation.models.study import Study
from tasks.models import PredictionFile


class ComparedFile(models.Model):
    """A file that the people of a closed study are compared with; stored when it is closed.

    Holm's correction is over these comparisons, so the file cannot be deleted any more.
    """

    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="compared_files")
    file = models.ForeignKey(PredictionFile, on_delete=models.PROTECT, related_name="+")

    class Meta:
        ordering = ["study", "pk"]
        constraints = [
            models.UniqueConstraint(
                fields=["study", "file"], name="a_file_is_once_in_the_family_of_a_study"
            )
        ]

    def __str__(self) -> str:
        return f"{self.file}, compared in {self.study}"
