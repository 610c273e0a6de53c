"""Design options: values in a JSON column of a study, each of which is described by a model field.

No query reads an option. Opening the study freezes the column (annotation/guards.py). Adding an
option takes no migration, because existing studies use its default.
"""

from typing import Any

from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import models


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
        help_text="Drawn from the seed, the same throughout one participation. All lists are"
        " shuffled, so leave this off if a task has an ordered scale.",
    )
    help_examples_at_zero_shots = models.BooleanField(
        "show help examples at zero shots", default=False
    )
    # Estimates for individual scenarios are stored in Scenario.minutes (study/minutes.py).
    estimated_minutes = models.PositiveIntegerField(
        null=True,
        blank=True,
        help_text="Shown to annotators for all tasks. Leave empty to estimate minutes per task and"
        " number of shots from its examples, based on a pilot if available, otherwise on"
        " reading speed.",
        validators=[MinValueValidator(1)],
    )
    task_minutes = models.TextField(
        "minutes for individual tasks",
        blank=True,
        help_text="Optional: minutes for individual tasks, one per line, such as CoNLL03: 90.",
    )
    idle_cutoff_seconds = models.PositiveIntegerField(
        "idle cut-off (seconds)",
        default=60,
        help_text="A longer gap between two activity signals counts as a pause, not as active time."
        " While in use, the page sends a signal every 20 seconds.",
        validators=[MinValueValidator(10), MaxValueValidator(600)],
    )
    ethics_contact = models.CharField(
        "ethics board",
        max_length=300,
        blank=True,
        help_text="Name, approval number and contact; shown with the consent text and on the"
        " withdrawal page.",
    )
    own_questions = models.TextField(
        "custom questions",
        blank=True,
        help_text="Optional. Asked once for each task, after consent or at the end, such as “age,"
        " before, number: How old are you?”: an id; before or after; choice, text or number;"
        " optionally required; the question. List the options of a choice below it, one per line,"
        " starting with -. Separate questions with a blank line.",
    )
    comprehension_questions = models.TextField(
        blank=True,
        help_text="Optional. Asked before the first example. List the options below each question,"
        " one per line, starting with - or, for the correct option, with *. Separate"
        " questions with a blank line.",
    )
    comprehension_attempts = models.PositiveIntegerField(
        "attempts at the comprehension questions",
        default=2,
        validators=[MinValueValidator(2), MaxValueValidator(10)],
    )
    confidence_share = models.FloatField(
        "share of answers with a question about confidence",
        default=0,
        help_text="After an answer, before the reveal or the next example, annotators are asked how"
        " sure they are, on five points. The answer is already final. 0: never, 1: after every"
        " answer. Otherwise, the examples are drawn for each annotator.",
        validators=[MinValueValidator(0), MaxValueValidator(1)],
    )
    asks_reasons = models.BooleanField("ask for a one-line reason as well", default=False)
    max_screen_outs_in_a_row = models.PositiveIntegerField(
        "pause after this number of screen-outs in a row",
        default=5,
        null=True,
        blank=True,
        help_text="The study then pauses until you reopen it. Leave empty to disable.",
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
        help_text="Taken from the task's attention check file; excluded from S1.",
    )
    exit_questionnaire = models.BooleanField("ask a few questions at the end", default=False)
    try_the_tool = models.BooleanField(
        "offer three made-up sentences to try the tool before the first example",
        default=True,
        help_text="The same for all annotators, unrelated to the task, neither scored nor stored.",
    )
    auto_advance = models.BooleanField(
        "in the annotation step, submit a label as soon as it is chosen",
        default=False,
        help_text="Label tasks only. Faster, but mistakes cannot be corrected.",
    )
    refuse_pastes = models.BooleanField(
        "refuse pasted text in typed answers",
        default=False,
        help_text="Otherwise, pastes are only counted. Without JavaScript, they are neither refused"
        " nor counted.",
    )
    refuse_copies = models.BooleanField(
        "make the question impossible to select and copy",
        default=False,
        help_text="A copied example then lacks its question. If the question of an attention check"
        " says what to answer, readers pass it, and a copied prompt fails it.",
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
        help_text="For each task, in addition to the others: they have no training step and are in"
        " no other table. Their score shows how much of a task can be done from the question"
        " alone. Needs zero-shot annotators, who are compared with them. Enter 0 for none.",
        validators=[MaxValueValidator(1000)],
    )
    hypotheses = models.TextField(
        blank=True,
        max_length=20_000,
        help_text="Optional: your expectations before data collection. Frozen with the design;"
        " included in the preregistration and the report.",
    )
    # Metrics from tasks/metrics, in addition to the metric on each task's card.
    metrics = models.JSONField(
        "further metrics",
        default=list,
        blank=True,
        help_text="Reported for human annotators and models next to each task's own metric, if they"
        " fit the kind of answer. Frozen with the design.",
    )
    accepts_leakage = models.BooleanField(
        "open the study although training examples are in the test set",
        default=False,
        help_text="Some training examples are also test examples, so their correct answers are"
        " revealed before the test. Frozen with the design and stated in the report.",
    )
    # `name`, and optionally `examples` and `tasks`, for each arm (study/cross_task.py).
    arms = models.JSONField(
        "upstream arms",
        default=list,
        blank=True,
        help_text="Cross-task studies only, optional: several upstream arms with the same sham and"
        " direct arm. One per line, such as “dose-2: 2” (examples of each upstream task) or"
        " “mix-1: 4: TASK-A, TASK-B” (examples of each of these tasks).",
    )
    computer_only = models.BooleanField("for computers only, not for phones", default=False)
    prolific_reward = models.CharField(
        "reward on Prolific",
        max_length=8,
        choices=ProlificReward,
        default=ProlificReward.SHORTEST,
        help_text="All scenarios form one study on Prolific, so they have one reward. With either"
        " option, all participants earn at least the hourly rate.",
    )
    participants_choose_scenario = models.BooleanField(
        "participants choose their scenario on Prolific",
        default=False,
        help_text="One study on Prolific per scenario, instead of one study that assigns each"
        " participant to a scenario. Differences between scenarios can then reflect"
        " self-selection, and every table says so.",
    )
    audience = models.JSONField(
        default=dict,
        blank=True,
        help_text="Eligibility on Prolific, and the content warning shown to all participants.",
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
