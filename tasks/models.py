"""What is asked: tasks, their published files (splits) and the examples in them.

A row here never changes after import. Changed content makes a new version of the task, so that
every answer ever given still stands beside the example it was given for. Nothing in this app
knows about people who answer. What models predicted for test examples stands here too, since it
is scored like any answer.
"""

import hashlib
import uuid
from functools import lru_cache

from django.conf import settings
from django.core.validators import MinValueValidator, RegexValidator, URLValidator
from django.db import models
from django.db.models import Q

from tasks.cards import Card, parse_card

_CARDS: dict[str, Card] = {}
_TEST_FILES: dict[str, str] = {}


class TaskQuerySet(models.QuerySet["Task"]):
    def latest_versions(self) -> "TaskQuerySet":
        """Keep the newest version of each task, by name."""
        newest = (
            Task.objects.filter(name=models.OuterRef("name"))
            .order_by("-version")
            .values("version")[:1]
        )
        return self.filter(version=models.Subquery(newest)).order_by("name")


class TaskManager(models.Manager.from_queryset(TaskQuerySet)):  # type: ignore[misc]
    """Tasks that are imported as a whole: one whose examples still come in is no task yet."""

    def get_queryset(self) -> TaskQuerySet:
        unfinished = UnfinishedImport.objects.filter(task=models.OuterRef("pk"))
        return super().get_queryset().filter(~models.Exists(unfinished))


class Task(models.Model):
    """One version of a task: its card and the splits that were imported with it."""

    name = models.CharField(max_length=40)
    version = models.PositiveIntegerField()
    content_hash = models.CharField(max_length=64)
    card_data = models.JSONField()
    rechained = models.BooleanField(default=False)
    report = models.JSONField()
    imported_at = models.DateTimeField(auto_now_add=True)
    # None: from the command line without --owner, or before tasks had teams.
    imported_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+"
    )

    objects = TaskManager()
    with_unfinished = models.Manager()  # noqa: DJ012 (a manager too)

    class Meta:
        ordering = ["name", "-version"]
        constraints = [
            models.UniqueConstraint(fields=["name", "version"], name="one_task_per_version"),
            models.UniqueConstraint(
                fields=["name", "content_hash"], name="changed_content_makes_a_new_version"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.name} v{self.version}"

    @property
    def card(self) -> Card:
        """The card, parsed once for each content (which never changes) and process."""
        if self.content_hash not in _CARDS:
            _CARDS[self.content_hash] = parse_card(self.card_data, f"card of {self}")
        return _CARDS[self.content_hash]

    @property
    def test_split(self) -> "Split":
        return self.splits.get(kind=Split.Kind.TEST)

    @property
    def test_hash(self) -> str:
        """SHA-256 over the content hashes of the test file's examples, in the file's order.

        Read once for each content (which never changes) and process.
        """
        if self.content_hash not in _TEST_FILES:
            tested = Example.objects.filter(split__task=self, split__kind=Split.Kind.TEST)
            hashes = tested.order_by("position").values_list("content_hash", flat=True)
            _TEST_FILES[self.content_hash] = hashlib.sha256("".join(hashes).encode()).hexdigest()
        return _TEST_FILES[self.content_hash]

    def train_split(self, shots: int, number: int) -> "Split":
        """The training file of that size and number; Split.DoesNotExist where there is none."""
        return self.splits.get(kind=Split.Kind.TRAIN, shots=shots, number=number)

    @property
    def training_sizes(self) -> list[int]:
        """The shots for which this task has training files, ascending."""
        sizes = self.splits.filter(kind=Split.Kind.TRAIN).values_list("shots", flat=True)
        return sorted(set(sizes))

    def split_numbers(self, shots: int) -> list[int]:
        """The numbers of the training files of that size, ascending."""
        splits = self.splits.filter(kind=Split.Kind.TRAIN, shots=shots)
        return sorted(splits.values_list("number", flat=True))


class UnfinishedImport(models.Model):
    """Stands beside a task as long as its examples come in, piece by piece; tasks/importing.py."""

    task = models.OneToOneField(
        Task, on_delete=models.CASCADE, primary_key=True, related_name="unfinished"
    )
    begun_at = models.DateTimeField(auto_now_add=True)

    def __str__(self) -> str:
        return f"unfinished {self.task}"


class TaskMember(models.Model):
    """Somebody in the team of a task, beside who imported its first version (tasks/teams.py)."""

    task_name = models.CharField(max_length=40)
    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="task_memberships"
    )
    added_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+"
    )
    added_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["task_name", "pk"]
        constraints = [
            models.UniqueConstraint(
                fields=["task_name", "user"], name="somebody_is_in_the_team_of_a_task_once"
            )
        ]

    def __str__(self) -> str:
        return f"{self.user}, team of {self.task_name}"


class Split(models.Model):
    """One published file of examples: a training file (shots, number) or the test file."""

    class Kind(models.TextChoices):
        TRAIN = "train"
        TEST = "test"
        # Attention checks: attached to a version, no part of its content, never in S1.
        CHECK = "check"

    task = models.ForeignKey(Task, on_delete=models.CASCADE, related_name="splits")
    kind = models.CharField(max_length=5, choices=Kind)
    shots = models.PositiveIntegerField(null=True)
    number = models.PositiveIntegerField(null=True)
    filename = models.CharField(max_length=200)

    class Meta:
        ordering = ["task", "kind", "shots", "number"]
        constraints = [
            models.UniqueConstraint(
                fields=["task", "shots", "number"], name="one_training_split_per_shots_and_number"
            ),
            models.UniqueConstraint(
                fields=["task"], condition=Q(kind="test"), name="one_test_split_per_task"
            ),
            models.UniqueConstraint(
                fields=["task"], condition=Q(kind="check"), name="one_file_of_checks_per_task"
            ),
            models.CheckConstraint(
                condition=Q(
                    kind="train",
                    shots__isnull=False,
                    number__isnull=False,
                    shots__gt=0,
                    number__gt=0,
                )
                | Q(kind__in=["test", "check"], shots__isnull=True, number__isnull=True),
                name="only_a_training_split_has_shots_and_number",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.task.name} {self.filename}"


class Example(models.Model):
    """Context (segments), question and gold, exactly as published; empty gold is "no answer"."""

    split = models.ForeignKey(Split, on_delete=models.CASCADE, related_name="examples")
    position = models.PositiveIntegerField()
    source_id = models.CharField(max_length=200)
    context = models.JSONField()
    question = models.TextField(blank=True)
    gold = models.JSONField()
    gold_starts = models.JSONField(null=True)
    content_hash = models.CharField(max_length=64, db_index=True)

    class Meta:
        ordering = ["split", "position"]
        constraints = [
            models.UniqueConstraint(
                fields=["split", "position"], name="one_example_per_position_in_a_split"
            ),
            models.UniqueConstraint(
                fields=["split", "source_id"], name="an_id_is_unique_inside_its_file"
            ),
        ]

    def __str__(self) -> str:
        return self.source_id


@lru_cache(maxsize=4096)
def example_of(pk: int) -> Example:
    """That example, read once in each process, for it never changes. Raises DoesNotExist."""
    return Example.objects.get(pk=pk)


class LanguageModel(models.Model):
    """A model whose predictions were uploaded, and what it is."""

    name = models.CharField(
        max_length=60,
        unique=True,
        validators=[
            RegexValidator(
                r"\A[A-Za-z0-9][A-Za-z0-9._-]*\Z",
                "Use letters, digits, dots, hyphens and underscores, such as T5-Large.",
            )
        ],
    )
    title = models.CharField(max_length=200, blank=True)
    link = models.CharField(
        max_length=500, blank=True, validators=[URLValidator(schemes=["http", "https"])]
    )
    parameters = models.PositiveBigIntegerField(
        null=True, blank=True, validators=[MinValueValidator(1)]
    )
    uploaded_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="uploaded_models"
    )
    uploaded_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["name"]

    def __str__(self) -> str:
        return self.name

    @property
    def parameters_text(self) -> str:
        return f"{self.parameters:,}" if self.parameters else "–"


class PredictionFileQuerySet(models.QuerySet["PredictionFile"]):
    def with_scores(self) -> "PredictionFileQuerySet":
        """Add `mean_s1` in [0, 1], over the test examples, and `examples`, how many these are."""
        scored = self.annotate(
            mean_s1=models.Avg("predictions__s1"), examples=models.Count("predictions")
        )
        return scored.order_by(*PredictionFile._meta.ordering)  # grouping drops it


class PredictionFile(models.Model):
    """What one model predicted for the test examples after training on one split."""

    model = models.ForeignKey(LanguageModel, on_delete=models.PROTECT, related_name="files")
    task = models.ForeignKey(Task, on_delete=models.PROTECT, related_name="prediction_files")
    shots = models.PositiveIntegerField()
    split_number = models.PositiveIntegerField(null=True)
    filename = models.CharField(max_length=255)
    sha256 = models.CharField(max_length=64)
    # What was found when it was held against the card; null: stored before that was done.
    remarks = models.JSONField(null=True)
    uploaded_at = models.DateTimeField(auto_now_add=True)

    objects = PredictionFileQuerySet.as_manager()

    class Meta:
        ordering = ["model__name", "task__name", "-task__version", "shots", "split_number"]
        constraints = [
            models.UniqueConstraint(
                fields=["model", "task", "shots", "split_number"],
                name="a_model_predicts_once_per_task_shots_and_split",
            ),
            models.UniqueConstraint(
                fields=["model", "task"],
                condition=Q(split_number__isnull=True),
                name="a_model_predicts_once_per_task_at_zero_shots",
            ),
            models.CheckConstraint(
                condition=Q(shots=0, split_number__isnull=True)
                | Q(shots__gt=0, split_number__isnull=False, split_number__gt=0),
                name="zero_shots_means_no_split_of_predictions",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.model.name}, {self.task.name}, {self.place}"

    @property
    def place(self) -> str:
        """Shots and split in words."""
        return f"{self.shots} shots" + (f", split {self.split_number}" if self.shots else "")


class Prediction(models.Model):
    """The texts that were predicted for one test example; empty is "no answer"."""

    file = models.ForeignKey(PredictionFile, on_delete=models.CASCADE, related_name="predictions")
    example = models.ForeignKey(Example, on_delete=models.PROTECT, related_name="predictions")
    predicted = models.JSONField()
    s1 = models.FloatField()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["file", "example"], name="one_prediction_per_file_and_example"
            )
        ]

    def __str__(self) -> str:
        return f"{self.file_id}: {self.example_id}"


class Job(models.Model):
    """Work that takes longer than a request, as far as it is done; tasks/jobs.py runs it.

    The same work (kind, parameters, seed) is one row, whoever asks for it: `key`.
    """

    class State(models.TextChoices):
        WAITING = "waiting"
        RUNNING = "running"
        DONE = "done"
        FAILED = "failed"

    kind = models.CharField(max_length=40)
    key = models.CharField(max_length=64, unique=True)
    parameters = models.JSONField()
    seed = models.BigIntegerField(default=0)
    owner = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, related_name="+"
    )
    total = models.PositiveIntegerField()
    done = models.PositiveIntegerField(default=0)
    state = models.CharField(max_length=7, choices=State, default=State.WAITING)
    error = models.TextField(blank=True)
    # What each chunk gave, in their order.
    result = models.JSONField(default=list)
    # Who is at the next chunk, until when that is believed, and how often it was begun.
    claim = models.CharField(max_length=32, blank=True)
    claimed_until = models.DateTimeField(null=True)
    attempts = models.PositiveIntegerField(default=0)
    created_at = models.DateTimeField(auto_now_add=True)
    touched_at = models.DateTimeField(auto_now=True)

    class Meta:
        ordering = ["pk"]
        constraints = [
            models.CheckConstraint(
                condition=Q(total__gt=0, done__lte=models.F("total")),
                name="a_job_has_chunks_and_does_no_more_than_these",
            ),
            models.CheckConstraint(
                condition=Q(state="done", done=models.F("total"))
                | ~Q(state="done") & Q(done__lt=models.F("total")),
                name="a_job_is_done_when_all_its_chunks_are",
            ),
            models.CheckConstraint(
                condition=Q(claim="", claimed_until__isnull=True)
                | Q(state="running", claimed_until__isnull=False) & ~Q(claim=""),
                name="a_claim_has_an_end_and_only_a_running_job_has_one",
            ),
            models.CheckConstraint(
                condition=Q(state="failed") & ~Q(error="") | ~Q(state="failed") & Q(error=""),
                name="a_failed_job_says_why",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.kind} {self.pk}: {self.done} of {self.total}"

    @property
    def is_done(self) -> bool:
        return self.state == self.State.DONE

    @property
    def has_failed(self) -> bool:
        return self.state == self.State.FAILED


class TaskUpload(models.Model):
    """Files on their way to becoming a task, in a folder of their own; tasks/uploads.py reads them.

    Nothing of it is a task before it is confirmed. It is gone after that, or after a day.
    """

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    owner = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="uploads"
    )
    # A card that ships with the project; empty: the task.toml among the files.
    card_name = models.CharField(max_length=40, blank=True)
    # Sentences about files that were not taken when files were last added.
    refused = models.JSONField(default=list)
    # Counts changes of the files or the card: what was found out before holds no longer.
    revision = models.PositiveIntegerField(default=0)
    # The check of this revision, or the import once it is confirmed.
    job = models.ForeignKey(Job, on_delete=models.SET_NULL, null=True, related_name="+")
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["-created_at"]

    def __str__(self) -> str:
        return f"upload of {self.created_at:%Y-%m-%d %H:%M} UTC"


class Installation(models.Model):
    """This database, in its one row: the folder var/ that belongs to it holds the same id."""

    # True in the one row that there is.
    only = models.BooleanField(default=True, unique=True, editable=False)
    folder_id = models.UUIDField(default=uuid.uuid4, editable=False)

    class Meta:
        constraints = [
            models.CheckConstraint(condition=Q(only=True), name="there_is_one_installation")
        ]

    def __str__(self) -> str:
        return f"installation {self.folder_id}"
