"""Design options: values in a JSON column of a study, each of which is described by a model field.

No query reads an option. Opening the study freezes the column (annotation/guards.py). Adding an
option takes no migration, because existing studies use its default.
"""

from typing import Any

from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import models
from django.utils.translation import gettext, gettext_noop, override

DEFAULT_CONSENT = gettext_noop("""\
We study how well people do a language task after a few examples. You read short texts and answer \
questions about them.

Taking part is voluntary. We store your answers and when you gave them, under a random name.

Please work alone, without search engines or AI tools.""")


def default_consent(language: str) -> str:
    """Return the consent text of new studies in this language."""
    with override(language):
        return gettext(DEFAULT_CONSENT)


class Qualification(models.TextChoices):
    """The screening rule applied after training (docs/protocol.md#after-the-training-step)."""

    NONE = "none", "no screening"
    MINIMUM = "minimum", "a mean training S1 of at least the threshold"
    POINTS_BELOW = (
        "points_below",
        "at most the threshold (in points) below the other annotators' mean",
    )
    SDS_BELOW = ("sds_below", "at most the threshold (in SDs) below the other annotators' mean")
    RESEARCHER = "researcher", "a researcher decides while the annotator waits"


class Order(models.TextChoices):
    SHUFFLED_APART = "shuffled_apart", "shuffled, with examples of the same context kept apart"
    CONTEXTS_TOGETHER = (
        "contexts_together",
        "contexts shuffled, with the examples of a context kept together",
    )
    FILE_ORDER = "file_order", "in file order"


class ProlificReward(models.TextChoices):
    SHORTEST = "shortest", "based on the shortest scenario; longer work is paid as a bonus"
    LONGEST = "longest", "based on the longest scenario, regardless of the assigned scenario"


# Maps each rule to the maximum threshold and a text that explains its unit.
SCALES = {
    Qualification.MINIMUM: (100, "0 to 100, such as 60"),
    Qualification.POINTS_BELOW: (100, "0 to 100 points, such as 20"),
    Qualification.SDS_BELOW: (10, "0 to 10 standard deviations, such as 2"),
}


class StudyOptions:
    """The option fields. On a study, each is a property that reads and sets its value."""

    Order = Order

    training_order = models.CharField(max_length=20, choices=Order, default=Order.SHUFFLED_APART)
    annotation_order = models.CharField(max_length=20, choices=Order, default=Order.SHUFFLED_APART)
    shuffles_options = models.BooleanField(
        "shuffle labels and options for each annotator",
        default=False,
        help_text="The order is drawn from the seed and stays the same throughout a participation."
        " All lists are shuffled, so leave this off if a task has an ordered scale.",
    )
    help_examples_at_zero_shots = models.BooleanField(
        "show help examples at zero shots", default=False
    )
    # Estimates for individual scenarios are stored in Scenario.minutes (study/minutes.py).
    estimated_minutes = models.PositiveIntegerField(
        null=True,
        blank=True,
        help_text="Shown to annotators for all tasks. Leave blank to estimate the minutes for each"
        " task and number of shots from its examples, based on a pilot if there is one and"
        " otherwise on reading speed.",
        validators=[MinValueValidator(1)],
    )
    task_minutes = models.TextField(
        "minutes for individual tasks",
        blank=True,
        help_text="Optional. Minutes for individual tasks, one task per line, such as CoNLL03: 90.",
    )
    idle_cutoff_seconds = models.PositiveIntegerField(
        "idle cut-off (seconds)",
        default=60,
        help_text="A gap between two activity signals counts as active time only up to this"
        " length. While a page is in use, it sends a signal every 20 seconds.",
        validators=[MinValueValidator(10), MaxValueValidator(600)],
    )
    ethics_contact = models.CharField(
        "ethics board",
        max_length=300,
        blank=True,
        help_text="Name, approval number and contact details, shown with the consent text and on"
        " the withdrawal page.",
    )
    own_questions = models.TextField(
        "custom questions",
        blank=True,
        help_text="Optional. Asked once for each task, after consent or at the end. Write an id,"
        " before or after, the type (choice, text or number), optionally required, and the"
        " question, as in “age, before, number: How old are you?”. List the options of a choice"
        " below it, one per line, each starting with -. Separate questions with a blank line.",
    )
    comprehension_questions = models.TextField(
        blank=True,
        help_text="Optional. Asked before the first example. List the options below each question,"
        " one per line, each starting with - or, if it is correct, with *. Separate questions with"
        " a blank line.",
    )
    comprehension_attempts = models.PositiveIntegerField(
        "attempts at the comprehension questions",
        default=2,
        validators=[MinValueValidator(2), MaxValueValidator(10)],
    )
    confidence_share = models.FloatField(
        "share of answers with a question about confidence",
        default=0,
        help_text="After giving a final answer, and before the reveal or the next example,"
        " annotators are asked how sure they are on a five-point scale. Enter 0 for never or 1 for"
        " every answer. In between, the examples are drawn separately for each annotator.",
        validators=[MinValueValidator(0), MaxValueValidator(1)],
    )
    asks_reasons = models.BooleanField("ask for a one-line reason as well", default=False)
    max_screen_outs_in_a_row = models.PositiveIntegerField(
        "pause after this number of screen-outs in a row",
        default=5,
        null=True,
        blank=True,
        help_text="The study then pauses until you reopen it. Leave blank to disable.",
        validators=[MinValueValidator(1), MaxValueValidator(1000, "Enter at most 1000.")],
    )
    decision_minutes = models.PositiveIntegerField(
        "decision time limit (minutes)",
        default=15,
        validators=[MinValueValidator(1), MaxValueValidator(240)],
    )
    attention_checks = models.PositiveIntegerField(
        "attention checks per annotator",
        default=0,
        help_text="Taken from the task's attention check file and excluded from S1.",
    )
    exit_questionnaire = models.BooleanField("ask a few questions at the end", default=False)
    try_the_tool = models.BooleanField(
        "offer three made-up sentences to try the tool before the first example",
        default=True,
        help_text="The sentences are the same for all annotators, unrelated to the task, and"
        " neither scored nor stored.",
    )
    auto_advance = models.BooleanField(
        "in the annotation step, submit a label as soon as it is chosen",
        default=False,
        help_text="Label tasks only. This is faster, but mistakes can't be corrected.",
    )
    refuse_pastes = models.BooleanField(
        "refuse pasted text in typed answers",
        default=False,
        help_text="If this is off, pastes are only counted. Without JavaScript, they are neither"
        " refused nor counted.",
    )
    refuse_copies = models.BooleanField(
        "make the question impossible to select and copy",
        default=False,
        help_text="A copied example then lacks its question. If an attention check says in its"
        " question what to answer, people who read it pass, while a copied prompt fails.",
    )
    # In points (score x 100), or null if the design has no equivalence test.
    equivalence_margin = models.FloatField(
        "equivalence margin (points)",
        null=True,
        blank=True,
        help_text="Optional. Two conditions are called equivalent if the 90 % confidence interval"
        " for their difference lies within ± this many points (score x 100). Frozen with the"
        " design.",
        validators=[MinValueValidator(0.1), MaxValueValidator(100)],
    )
    context_free_annotators = models.PositiveIntegerField(
        "annotators who see questions without their context",
        default=0,
        help_text="For each task, in addition to the other annotators. They have no training step"
        " and don't appear in any other table. Their score shows how much of a task can be done"
        " from the question alone. They are compared with zero-shot annotators, so the design must"
        " have some. Enter 0 for none.",
        validators=[MaxValueValidator(1000)],
    )
    hypotheses = models.TextField(
        blank=True,
        max_length=20_000,
        help_text="Optional. Your expectations before data collection, which are frozen with the"
        " design and included in the preregistration and the report.",
    )
    # Metrics from tasks/metrics, in addition to the metric on each task's card.
    metrics = models.JSONField(
        "further metrics",
        default=list,
        blank=True,
        help_text="Reported for human annotators and models alongside each task's own metric, if"
        " they fit the answer type. Frozen with the design.",
    )
    accepts_leakage = models.BooleanField(
        "open the study although training examples are in the test set",
        default=False,
        help_text="Some training examples are also test examples, so their correct answers are"
        " revealed before the test. This is frozen with the design and stated in the report.",
    )
    # `name`, and optionally `examples` and `tasks`, for each arm (study/cross_task.py).
    arms = models.JSONField(
        "upstream arms",
        default=list,
        blank=True,
        help_text="Optional, for cross-task studies only: several upstream arms with the same sham"
        " and direct arm. Enter one arm per line, such as “dose-2: 2” (examples of each upstream"
        " task) or “mix-1: 4: TASK-A, TASK-B” (examples of each of these tasks).",
    )
    computer_only = models.BooleanField("for computers only, not for phones", default=False)
    prolific_reward = models.CharField(
        "reward on Prolific",
        max_length=8,
        choices=ProlificReward,
        default=ProlificReward.SHORTEST,
        help_text="All scenarios share one study on Prolific, so they have the same reward. With"
        " either option, all participants earn at least the hourly rate.",
    )
    participants_choose_scenario = models.BooleanField(
        "participants choose their scenario on Prolific",
        default=False,
        help_text="Each scenario gets its own study on Prolific, instead of one study that assigns"
        " each participant to a scenario. Differences between scenarios can then reflect"
        " self-selection, which is noted on every table.",
    )
    audience = models.JSONField(
        default=dict,
        blank=True,
        help_text="Who is eligible on Prolific, and the content warning shown to all participants.",
    )

    @property
    def labels(self) -> dict[str, str]:
        return {n: dict(f.choices)[getattr(self, n)] for n, f in OPTIONS.items() if f.choices}

    @classmethod
    def design_field(cls, name: str) -> models.Field:
        return OPTIONS.get(name) or cls._meta.get_field(name)  # type: ignore[attr-defined]  # of Study


def _option(field: models.Field) -> property:
    def stored(study: Any) -> Any:
        return study.options.get(field.name, field.get_default())

    def store(study: Any, value: Any) -> None:
        study.options = study.options | {field.name: value}  # copies of a study share the dict

    return property(stored, store)


OPTIONS: dict[str, Any] = {
    name: field for name, field in vars(StudyOptions).items() if isinstance(field, models.Field)
}
for name, field in OPTIONS.items():
    field.set_attributes_from_name(name)
    setattr(StudyOptions, name, _option(field))
