"""Predictions by language models for test examples, which are scored like answers."""

from django.contrib.auth.models import User
from django.core.validators import MinValueValidator, RegexValidator, URLValidator
from django.db import models
from django.db.models import Case, F, Q, Value, When

from tasks.columns import shots_text
from tasks.models.choices import ARM_NAME, CELL_ARMS, Arm, check, one_of, unique
from tasks.models.task import Example, Task


class ExternalData(models.TextChoices):
    """Whether the model learned from data other than the training split."""

    NOT_STATED = "", "not stated"
    NO = "no", "no"
    YES = "yes", "yes"


class SizeClass(models.TextChoices):
    NOT_STATED = "", "other, or not stated"
    BASE = "base", "base"
    LARGE = "large", "large"


class LanguageModel(models.Model):
    """A model whose predictions were uploaded, with its description."""

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
    size_class = models.CharField(max_length=10, choices=SizeClass, blank=True, default="")
    external_labelled = models.CharField(max_length=3, choices=ExternalData, blank=True, default="")
    external_unlabelled = models.CharField(
        max_length=3, choices=ExternalData, blank=True, default=""
    )
    uploaded_by = models.ForeignKey(User, on_delete=models.PROTECT, related_name="uploaded_models")
    uploaded_at = models.DateTimeField(auto_now_add=True)
    # Hides the model from the list of models, but changes nothing else.
    archived_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["name"]
        constraints = [
            one_of("size_class", SizeClass, "a_model_is_of_a_known_size_class"),
            one_of("external_labelled", ExternalData, "a_model_says_if_it_had_labelled_data"),
            one_of("external_unlabelled", ExternalData, "a_model_says_if_it_had_unlabelled_data"),
        ]

    def __str__(self) -> str:
        return self.name


class Numbering(models.TextChoices):
    """What split numbers refer to, because the published files of two tasks are not nested."""

    NOT_STATED = "", "not stated"
    PUBLISHED = "published", "as published"
    RECHAINED = "rechained", "renumbered so that they nest"


class Seen(models.TextChoices):
    """Whether the model may have seen the test examples in its training or prompt."""

    NOT_STATED = "", "not stated"
    NO = "no", "no"
    MAYBE = "maybe", "not known"
    YES = "yes", "yes"


class Method(models.TextChoices):
    """How the model was adapted to the task (CLUES, Tables 5 and 6)."""

    NOT_STATED = "", "not stated"
    FT = "FT", "fine-tuning"
    PT = "PT", "prompt-based fine-tuning"
    ICL = "ICL", "in-context learning"
    OTHER = "other", "other"


class Tuning(models.TextChoices):
    """How prompts and settings were chosen. Using held-out data inflates few-shot scores."""

    NOT_STATED = "", "not stated"
    FIXED = "fixed", "fixed in advance"
    TRAINING = "training", "on the training data"
    HELD_OUT = "held-out", "on held-out data"


class PredictionFileQuerySet(models.QuerySet["PredictionFile"]):
    def in_cells(self) -> "PredictionFileQuerySet":
        """Return files without an upstream step, as for participations, and without witnesses."""
        return self.filter(arm__in=CELL_ARMS, witness=False)

    def with_scores(self) -> "PredictionFileQuerySet":
        """Add `mean_s1` in [0, 1] over the test examples, and their number as `examples`."""
        scored = self.annotate(
            mean_s1=models.Avg("predictions__s1"), examples=models.Count("predictions")
        )
        return scored.order_by(*(PredictionFile._meta.ordering or ()))  # grouping removes the order


# A model without an arm is trained on the same examples as the direct arm.
OWN_ARM = Case(When(arm=Arm.DIRECT, then=Value("")), default=F("arm"))


class PredictionFile(models.Model):
    """The predictions of one model for the test examples, after training on one split."""

    model = models.ForeignKey(LanguageModel, on_delete=models.PROTECT, related_name="files")
    task = models.ForeignKey(Task, on_delete=models.PROTECT, related_name="prediction_files")
    # None for a fully supervised run, which uses all training data of the corpus.
    shots = models.PositiveIntegerField(null=True)
    split_number = models.PositiveIntegerField(null=True)
    filename = models.CharField(max_length=255)
    sha256 = models.CharField(max_length=64)
    # What was found when comparing the predictions with the card.
    remarks = models.JSONField()
    # The run, as described by the person who uploaded it.
    numbering = models.CharField(max_length=10, choices=Numbering, blank=True, default="")
    seen_test = models.CharField(max_length=10, choices=Seen, blank=True, default="")
    predicted_on = models.DateField(null=True)
    revision = models.CharField(max_length=100, blank=True, default="")
    method = models.CharField(max_length=5, choices=Method, blank=True, default="")
    tuning = models.CharField(max_length=10, choices=Tuning, blank=True, default="")
    arm = models.CharField(max_length=20, blank=True, default="")
    # Whether it is only compared with annotators' errors, and not shown in any table.
    witness = models.BooleanField(default=False)
    uploaded_at = models.DateTimeField(auto_now_add=True)

    objects = PredictionFileQuerySet.as_manager()

    class Meta:
        ordering = ["model__name", "task__name", "-task__version", "shots", "split_number", "arm"]
        constraints = [
            one_of("numbering", Numbering, "predictions_have_a_known_numbering"),
            one_of("seen_test", Seen, "predictions_say_whether_the_test_was_seen"),
            one_of("method", Method, "predictions_have_a_known_method"),
            one_of("tuning", Tuning, "predictions_say_how_settings_were_chosen"),
            check(
                "predictions_have_a_named_arm_or_none",
                Q(arm="") | Q(arm__regex=ARM_NAME),
                message="Enter the name of an arm, such as upstream.",
            ),
            models.UniqueConstraint(
                *("model", "task", "shots", "split_number", OWN_ARM),
                name="a_model_predicts_once_per_task_shots_split_and_arm",
            ),
            models.UniqueConstraint(
                *("model", "task", OWN_ARM),
                condition=Q(shots=0),
                name="a_model_predicts_once_per_task_and_arm_at_zero_shots",
            ),
            unique(
                "a_model_predicts_once_per_task_fully_supervised",
                ["model", "task"],
                condition=Q(shots__isnull=True),
            ),
            check(
                "zero_shots_means_no_split_of_predictions",
                Q(Q(shots=0) | Q(shots__isnull=True), split_number__isnull=True)
                | Q(
                    shots__isnull=False, shots__gt=0, split_number__isnull=False, split_number__gt=0
                ),
            ),
        ]

    def __str__(self) -> str:
        return f"{self.model.name}, {self.task.name}, {self.place}"

    @property
    def place(self) -> str:
        split = f", split {self.split_number}" if self.shots else ""
        shots = "fully supervised" if self.shots is None else shots_text(self.shots)
        return f"{shots}{split}" + (f", {self.arm} arm" if self.arm else "")


class Prediction(models.Model):
    """The predicted answers for one test example. An empty list means "no answer"."""

    file = models.ForeignKey(PredictionFile, on_delete=models.CASCADE, related_name="predictions")
    example = models.ForeignKey(Example, on_delete=models.PROTECT, related_name="predictions")
    predicted = models.JSONField()
    s1 = models.FloatField()

    class Meta:
        constraints = [unique("one_prediction_per_file_and_example", ["file", "example"])]
