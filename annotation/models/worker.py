"""Workers, identified by keyed hashes only, and the tasks they have seen."""

from django.db import models
from django.utils import timezone

from annotation.models.study import Kind, Study, new_code
from tasks.models.choices import one_of


class PersonalLink(models.Model):
    """A one-time link with a name that the researcher chose; its holder is one worker."""

    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="personal_links")
    name = models.CharField(max_length=200)
    code = models.CharField(max_length=40, unique=True, default=new_code)
    created_at = models.DateTimeField(default=timezone.now)

    class Meta:
        ordering = ["pk"]
        constraints = [
            models.UniqueConstraint(
                fields=["study", "name"],
                name="a_name_has_one_personal_link_in_a_study",
                violation_error_message="This study already has a personal link with that name.",
            )
        ]

    def __str__(self) -> str:
        return self.name


class Worker(models.Model):
    """A person or program that answers. `key` is a keyed hash of platform and ID."""

    key = models.CharField(max_length=64, unique=True)
    platform = models.CharField(max_length=80)
    kind = models.CharField(max_length=10, choices=Kind)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [
            one_of("kind", Kind, "a_worker_is_of_a_known_kind"),
        ]

    def __str__(self) -> str:
        return f"{self.kind} {self.key[:8]}"


class KeyCheck(models.Model):
    """Identifies a key that IDs are hashed or encrypted with (key_check.py)."""

    name = models.CharField(max_length=20, unique=True)
    value = models.CharField(max_length=64)

    def __str__(self) -> str:
        return self.name


class Exposure(models.Model):
    """This worker has seen an example of this task, in any version; unique and permanent.

    It has no foreign key, since the row must outlive the worker, the study and every purge.
    """

    worker_key = models.CharField(max_length=64)
    task_name = models.CharField(max_length=60)
    since = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["worker_key", "task_name"], name="a_worker_takes_part_once_per_task"
            )
        ]

    def __str__(self) -> str:
        return f"{self.worker_key[:8]} {self.task_name}"
