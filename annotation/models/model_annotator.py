"""Models as annotators: a model worker's identity, and its run statistics."""

from django.core.validators import MinValueValidator
from django.db import models
from django.db.models import F, Q

from annotation.models.arrivals import Worker
from annotation.models.participation import Participation
from tasks.clock import database_now
from tasks.models.choices import one_of


class ModelAnnotator(models.Model):
    """A model worker's identity: a model, a training file and a replicate number.

    The worker's key is a keyed hash of all these fields (annotation/recruitment/links.py), so no
    two workers can share the same values. At zero shots, the split is null.
    """

    worker = models.OneToOneField(
        Worker, on_delete=models.CASCADE, primary_key=True, related_name="model"
    )
    name = models.CharField(max_length=200)
    revision = models.CharField(max_length=200, blank=True)
    # SHA-256 of the template of the conversation, including its declared options.
    prompt_hash = models.CharField(max_length=64)
    task_name = models.CharField(max_length=60)
    shots = models.PositiveIntegerField()
    split_number = models.PositiveIntegerField(null=True)
    arm = models.CharField(max_length=20, blank=True)
    replicate = models.PositiveIntegerField(default=1)

    class Meta:
        constraints = [
            models.CheckConstraint(condition=Q(replicate__gt=0), name="replicates_count_from_1"),
            models.CheckConstraint(condition=~Q(name=""), name="a_model_annotator_has_a_name"),
        ]

    def __str__(self) -> str:
        return f"{self.name}, replicate {self.replicate}"


class Examples(models.TextChoices):
    ANSWERED = "answered", "answered by the model, then revealed, as for human annotators"
    SHOWN = "shown", "shown with their gold; the model is not asked, and an empty answer is stored"


class Context(models.TextChoices):
    EACH = "each", "the training step and only this example"
    ALL = "all", "the training step and all earlier test examples"


class ModelRun(models.Model):
    """How a model's participation was run, as the program reported when it ended. Insert-only.

    Tokens and cost come from the provider. `invalid` counts answers stored as empty because they
    were still invalid after all retries. `seconds` is the model's response time.
    """

    Examples, Context = Examples, Context

    participation = models.OneToOneField(
        Participation, on_delete=models.PROTECT, primary_key=True, related_name="model_run"
    )
    template = models.TextField()
    harness = models.CharField(max_length=100, blank=True)
    examples = models.CharField(max_length=8, choices=Examples)
    context = models.CharField(max_length=4, choices=Context)
    temperature = models.FloatField(null=True, validators=[MinValueValidator(0.0)])
    seed = models.BigIntegerField(null=True)
    retries = models.PositiveIntegerField()  # allowed per answer
    input_tokens = models.PositiveBigIntegerField()
    output_tokens = models.PositiveBigIntegerField()
    cost_usd = models.DecimalField(max_digits=12, decimal_places=6, null=True)
    answers = models.PositiveIntegerField()
    invalid = models.PositiveIntegerField()
    refusals = models.PositiveIntegerField()
    seconds = models.FloatField()
    at = models.DateTimeField(default=database_now)

    class Meta:
        constraints = [
            one_of("examples", Examples, "a_run_says_how_examples_were_met"),
            one_of("context", Context, "a_run_says_what_was_in_context"),
            models.CheckConstraint(
                condition=Q(invalid__lte=F("answers")), name="invalid_answers_are_answers"
            ),
            models.CheckConstraint(condition=Q(seconds__gte=0.0), name="a_run_takes_time"),
            models.CheckConstraint(
                condition=Q(cost_usd__isnull=True) | Q(cost_usd__gte=0),
                name="a_run_costs_nothing_or_more",
            ),
        ]

    def __str__(self) -> str:
        return f"run of {self.participation}"
