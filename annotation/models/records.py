"""Records of participations and studies: decisions, questionnaires, models, texts, comments."""

import json
from collections.abc import Collection
from functools import reduce
from operator import or_

from django.contrib.auth.models import User
from django.core.validators import MinValueValidator
from django.db import models
from django.db.models import F, Q
from django.utils import timezone

from annotation.models.arrivals import Worker
from annotation.models.participation import Participation
from annotation.models.study import Study
from tasks.clock import database_now
from tasks.models import Example, PredictionFile
from tasks.models.choices import check, one_of, unique


class About(models.TextChoices):
    ANALYSIS = "analysis", "in the analysis"
    PAY = "pay", "paid"
    QUALIFICATION = "qualification", "qualified"
    RELEASE = "release", "released for payment"


class DecisionQuerySet(models.QuerySet["Decision"]):
    def readable_by(self, rights: Collection[str]) -> "DecisionQuerySet":
        """Return pay decisions for payers, and all others, which reveal scores, for readers."""
        on_pay = Q(about__in=[About.PAY, About.RELEASE])
        parts = (part for right, part in (("pay", on_pay), ("read", ~on_pay)) if right in rights)
        return self.filter(reduce(or_, parts, Q(pk=None)))


class Decision(models.Model):
    """A decision about a participation, made by a user or by a rule of the design.

    There are four independent kinds: inclusion in the analysis, payment, qualification after
    training, and release of unusually high ledger entries for payment (always "yes", for old ones).
    """

    About = About

    participation = models.ForeignKey(
        Participation, on_delete=models.PROTECT, related_name="decisions"
    )
    about = models.CharField(max_length=13, choices=About)
    outcome = models.BooleanField()
    reason = models.TextField()
    by = models.ForeignKey(User, null=True, on_delete=models.PROTECT, related_name="+")
    at = models.DateTimeField(default=timezone.now)
    # Whether the test score was visible before a researcher's decision about the analysis.
    score_seen = models.BooleanField(null=True)

    objects = DecisionQuerySet.as_manager()

    class Meta:
        ordering = ["at", "pk"]
        constraints = [
            one_of("about", About, "a_decision_is_about_something_known"),
            check(
                "a_decision_has_a_reason",
                ~Q(reason=""),
                message="Enter a reason. It is stored in the log.",
            ),
        ]


class ScoreShown(models.Model):
    """Records that a user saw a participation's score before deciding about the analysis."""

    participation = models.OneToOneField(
        Participation, on_delete=models.PROTECT, related_name="score_shown"
    )
    by = models.ForeignKey(User, null=True, on_delete=models.PROTECT, related_name="+")
    at = models.DateTimeField(default=timezone.now)


class SeenBefore(models.TextChoices):
    NO = "no", "No"
    YES = "yes", "Yes"
    UNSURE = "unsure", "Not sure"


class ExitAnswers(models.Model):
    """A worker's answers to the optional exit questions. Erased on withdrawal."""

    SeenBefore = SeenBefore

    participation = models.OneToOneField(
        Participation, on_delete=models.PROTECT, related_name="exit_answers"
    )
    seen_before = models.CharField(
        "Had you seen these texts or this task before?",
        max_length=6,
        choices=SeenBefore,
        blank=True,
    )
    ai_used = models.CharField(
        "Did you use an AI tool, such as a chatbot?", max_length=6, choices=SeenBefore, blank=True
    )
    tools = models.TextField("Which tools or people helped you, if any?", blank=True)
    comments = models.TextField(
        "Is there anything else that you would like to tell us?", blank=True
    )
    at = models.DateTimeField(default=timezone.now)

    class Meta:
        constraints = [
            one_of(
                "seen_before", SeenBefore, "seen_before_is_yes_no_unsure_or_empty", or_empty=True
            ),
            one_of("ai_used", SeenBefore, "ai_used_is_known_or_empty", or_empty=True),
        ]


class Moment(models.TextChoices):
    BEFORE = "before"
    AFTER = "after"


class OwnAnswer(models.Model):
    """A worker's answer to a custom question, or "" if skipped. Erased on withdrawal.

    `question` is the ID of the question in the frozen design (study/own_questions.py).
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
            unique("an_own_question_is_answered_once", ["participation", "question"]),
        ]


class ModelAnnotator(models.Model):
    """The identity of a model worker: a model, a training file and a replicate number.

    The worker's key is a keyed hash of all these fields (`identity`), so no two workers can share
    the same values. For zero-shot runs, the split is null.
    """

    worker = models.OneToOneField(
        Worker, on_delete=models.CASCADE, primary_key=True, related_name="model"
    )
    name = models.CharField(max_length=200)
    revision = models.CharField(max_length=200, blank=True)
    # SHA-256 of the conversation template, including its declared options.
    prompt_hash = models.CharField(max_length=64)
    task_name = models.CharField(max_length=60)
    shots = models.PositiveIntegerField()
    split_number = models.PositiveIntegerField(null=True)
    arm = models.CharField(max_length=20, blank=True)
    replicate = models.PositiveIntegerField(default=1)

    class Meta:
        constraints = [
            check("replicates_count_from_1", Q(replicate__gt=0)),
            check("a_model_annotator_has_a_name", ~Q(name="")),
        ]

    def __str__(self) -> str:
        return f"{self.name}, replicate {self.replicate}"

    @property
    def identity(self) -> str:
        """Return the text whose hash is the worker's key. It is the same for all task versions."""
        split = [self.task_name, self.shots, self.split_number, self.arm]
        return json.dumps([self.name, self.revision, self.prompt_hash, split, self.replicate])


class Examples(models.TextChoices):
    ANSWERED = "answered", "answered by the model, then revealed, as for human annotators"
    SHOWN = "shown", "shown with their gold; the model is not asked, and an empty answer is stored"


class Context(models.TextChoices):
    EACH = "each", "the training step and only this example"
    ALL = "all", "the training step and all earlier test examples"


class ModelRun(models.Model):
    """How a model's participation was run, as reported by the program at the end. Insert-only.

    Token counts and cost come from the provider. `invalid` counts answers stored as empty because
    they were still invalid after all retries. `seconds` is the model's response time.
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
    retries = models.PositiveIntegerField()  # allowed for each answer
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
            check("invalid_answers_are_answers", Q(invalid__lte=F("answers"))),
            check("a_run_takes_time", Q(seconds__gte=0.0)),
            check("a_run_costs_nothing_or_more", Q(cost_usd__isnull=True) | Q(cost_usd__gte=0)),
        ]


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
