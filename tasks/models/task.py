"""Tasks, their published files (splits), and the examples in these files.

Rows never change after the import. Changed content becomes a new version of the task, so that every
answer keeps the example to which it was given.
"""

import uuid
from collections.abc import Iterable
from functools import cached_property
from pathlib import Path
from typing import Any

from django.contrib.auth.models import User
from django.db import models
from django.db.models import Q
from django.utils import timezone

from tasks import frozen
from tasks.cards import place_in_results
from tasks.images import CLEAN, FOLDER, name_of
from tasks.models.choices import check, one_of, unique
from tasks.models.job import Job


class ImageQuerySet(models.QuerySet["Image"]):
    def store(self, folder: Path, files: Iterable[str]) -> None:
        """Store the clean images in a folder. Images already stored are treated as new again."""
        for path in (folder / CLEAN / file for file in files):
            if path.exists():
                data = path.read_bytes()
                self.defer("data").update_or_create(
                    name=name_of(data),
                    defaults={"stored_at": timezone.now()},
                    create_defaults={"data": data},
                )

    def write(self, folder: Path) -> None:
        """Write the images to the subfolder for images, if there are any."""
        for image in self.iterator(chunk_size=10):
            (folder / FOLDER).mkdir(exist_ok=True)
            (folder / FOLDER / image.name).write_bytes(image.data)


class Image(models.Model):
    """An image used in tasks' examples, stored once in the database, so backups include it."""

    name = models.CharField(max_length=68, primary_key=True)  # SHA-256 and suffix
    data = models.BinaryField()
    stored_at = models.DateTimeField(auto_now_add=True)

    objects = ImageQuerySet.as_manager()

    def __str__(self) -> str:
        return self.name


class TaskQuerySet(models.QuerySet["Task"]):
    def latest_versions(self) -> "TaskQuerySet":
        """Select the newest of these versions for each task, ordered by name."""
        return self.filter(version=self._newest()).order_by("name")

    def listed(self) -> "TaskQuerySet":
        """Select the newest unarchived version of each task, and all archived versions."""
        newest = Task.objects.filter(archived_at__isnull=True)._newest()
        visible = Q(version=newest) | Q(archived_at__isnull=False)
        return self.filter(visible).order_by("name", "-version")

    def _newest(self) -> models.Subquery:
        versions = self.filter(name=models.OuterRef("name")).order_by("-version")
        return models.Subquery(versions.values("version")[:1])

    def with_reports(self) -> "TaskQuerySet":
        return self.select_related("data_report")


class TaskManager(models.Manager.from_queryset(TaskQuerySet)):  # type: ignore[misc]
    def get_queryset(self) -> TaskQuerySet:
        unfinished = UnfinishedImport.objects.filter(task=models.OuterRef("pk"))
        return super().get_queryset().filter(~models.Exists(unfinished))


class Task(models.Model):
    """A version of a task: its card, and the splits imported with it."""

    name = models.CharField(max_length=60)
    version = models.PositiveIntegerField()
    content_hash = models.CharField(max_length=64)
    card_data = models.JSONField()
    rechained = models.BooleanField(default=False)
    imported_at = models.DateTimeField(auto_now_add=True)
    # Hides this version from the list of tasks, but changes nothing else.
    archived_at = models.DateTimeField(null=True, blank=True)
    # None if it was imported on the command line without --owner, or before tasks had teams.
    imported_by = models.ForeignKey(User, null=True, on_delete=models.SET_NULL, related_name="+")
    images = models.ManyToManyField(Image)

    objects = TaskManager()
    with_unfinished = models.Manager()  # noqa: DJ012 (a manager too)

    card = cached_property(frozen.card)
    test_hash = property(frozen.test_hash)

    class Meta:
        ordering = ["name", "-version"]
        constraints = [
            unique("one_task_per_version", ["name", "version"]),
            unique("changed_content_makes_a_new_version", ["name", "content_hash"]),
        ]

    def __str__(self) -> str:
        return f"{self.name} v{self.version}"

    @property
    def place(self) -> tuple[int, tuple[int, str]]:
        """Return a sort key for the order of the results."""
        return place_in_results(self.card.family, self.name)

    @property
    def report(self) -> dict[str, Any]:
        """Return the data report. This takes a query unless `data_report` was selected."""
        return self.data_report.content

    @property
    def test_part(self) -> str:
        """Return text such as "20 of 60 test examples (drawn with seed 1)", or "" for all."""
        if self.card.test_of is None:
            return ""
        files = {split["file"]: split["examples"] for split in self.report["splits"]}
        number = next(n for file, n in files.items() if file.endswith("_test.jsonl"))
        seed = self.card.test_seed
        selection = "the others are not usable" if seed is None else f"drawn with seed {seed}"
        return f"{number} of {self.card.test_of} test examples ({selection})"

    @property
    def test_split(self) -> "Split":
        return self.splits.get(kind=Split.Kind.TEST)

    def train_split(self, shots: int, number: int | None) -> "Split":
        """Return the training file with this size and number. Raises Split.DoesNotExist."""
        return self.splits.get(kind=Split.Kind.TRAIN, shots=shots, number=number)

    @property
    def training_sizes(self) -> list[int]:
        """Return the shot counts of this task's training files, in ascending order."""
        trained = self.splits.filter(kind=Split.Kind.TRAIN)
        return sorted({shots for shots in trained.values_list("shots", flat=True) if shots})

    def split_numbers(self, shots: int) -> list[int]:
        """Return the numbers of the training files of this size, in ascending order."""
        splits = self.splits.filter(kind=Split.Kind.TRAIN, shots=shots)
        return sorted(number for number in splits.values_list("number", flat=True) if number)


class TaskReport(models.Model):
    """A task's data report, which has its own row because it is large and few pages use it."""

    task = models.OneToOneField(
        Task, on_delete=models.CASCADE, primary_key=True, related_name="data_report"
    )
    content = models.JSONField()


class UnfinishedImport(models.Model):
    """Marks a task whose examples are still being stored (tasks/importing.py)."""

    task = models.OneToOneField(
        Task, on_delete=models.CASCADE, primary_key=True, related_name="unfinished"
    )
    begun_at = models.DateTimeField(auto_now_add=True)


class TaskMember(models.Model):
    """A member of a task's team, including the importer of the first version (tasks/teams.py)."""

    task_name = models.CharField(max_length=60)
    user = models.ForeignKey(User, on_delete=models.CASCADE, related_name="task_memberships")
    added_by = models.ForeignKey(User, null=True, on_delete=models.SET_NULL, related_name="+")
    added_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["task_name", "pk"]
        constraints = [
            unique(
                "somebody_is_in_the_team_of_a_task_once",
                ["task_name", "user"],
                message="This person is already in the team.",
            )
        ]


class SplitKind(models.TextChoices):
    TRAIN = "train"
    # As large as its training file, and only shown in the upstream step of a cross-task study.
    DEV = "dev"
    TEST = "test"
    # Attention checks belong to a version, but neither to its content nor to S1.
    CHECK = "check"


class Split(models.Model):
    """A published file of examples: training, development (both: shots, number), test or checks."""

    Kind = SplitKind

    task = models.ForeignKey(Task, on_delete=models.CASCADE, related_name="splits")
    kind = models.CharField(max_length=5, choices=Kind)
    shots = models.PositiveIntegerField(null=True)
    number = models.PositiveIntegerField(null=True)
    filename = models.CharField(max_length=200)

    class Meta:
        ordering = ["task", "kind", "shots", "number"]
        constraints = [
            one_of("kind", SplitKind, "a_split_is_of_a_known_kind"),
            unique("one_training_split_per_shots_and_number", ["task", "kind", "shots", "number"]),
            unique("one_test_split_per_task", ["task"], condition=Q(kind="test")),
            unique("one_file_of_checks_per_task", ["task"], condition=Q(kind="check")),
            check(
                "only_a_training_split_has_shots_and_number",
                Q(
                    kind__in=["train", "dev"],
                    shots__isnull=False,
                    number__isnull=False,
                    shots__gt=0,
                    number__gt=0,
                )
                | Q(kind__in=["test", "check"], shots__isnull=True, number__isnull=True),
            ),
        ]

    def __str__(self) -> str:
        return f"{self.task.name} {self.filename}"


class Example(models.Model):
    """Context (segments), question and gold answers as published. Empty gold means "no answer"."""

    split = models.ForeignKey(Split, on_delete=models.CASCADE, related_name="examples")
    position = models.PositiveIntegerField()
    source_id = models.CharField(max_length=200)
    context = models.JSONField()
    question = models.TextField(blank=True)
    gold = models.JSONField()
    gold_starts = models.JSONField(null=True)
    # The researcher's reason why the gold answer is correct. It is only shown in the reveal, too.
    explanation = models.TextField(blank=True, default="")
    # The choices in the order displayed, for tasks with options only.
    options = models.JSONField(default=list, blank=True)
    # The example's group, such as its genre, or "" if the file does not give one.
    stratum = models.CharField(max_length=100, blank=True, default="")
    content_hash = models.CharField(max_length=64, db_index=True)

    class Meta:
        ordering = ["split", "position"]
        constraints = [
            unique("one_example_per_position_in_a_split", ["split", "position"]),
            unique("an_id_is_unique_inside_its_file", ["split", "source_id"]),
        ]

    def __str__(self) -> str:
        return self.source_id


class TaskUpload(models.Model):
    """Files that become a task on confirmation, or are deleted after a day (tasks/uploads.py)."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    owner = models.ForeignKey(User, on_delete=models.CASCADE, related_name="uploads")
    # The CLUES card to use, or "" to use the task.toml among the files.
    card_name = models.CharField(max_length=40, blank=True)
    # Messages about files rejected in the latest upload.
    refused = models.JSONField(default=list)
    # Counts changes to the files or card, each of which invalidates earlier checks.
    revision = models.PositiveIntegerField(default=0)
    # The check of this revision or, after confirmation, the import.
    job = models.ForeignKey(Job, on_delete=models.SET_NULL, null=True, related_name="+")
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["-created_at"]

    def __str__(self) -> str:
        return f"upload of {self.created_at:%Y-%m-%d %H:%M} UTC"
