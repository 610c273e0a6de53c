"""Studies and their scenarios: what a researcher designs, and opening freezes."""

import secrets
from datetime import timedelta
from decimal import Decimal
from functools import cached_property, partial

from django.conf import settings
from django.core.validators import MaxValueValidator, MinValueValidator, RegexValidator
from django.db import models
from django.db.models import Q
from django.utils import timezone

from tasks.models import Task

DEFAULT_CONSENT = """\
You are invited to take part in a study of how well people perform a language task after seeing a \
few examples. You will read short texts and answer questions about them.

Participation is voluntary. You can stop at any time by closing the page. We store your answers \
and the times at which you gave them under a random pseudonym that does not reveal who you are.

Please work on your own, without the help of other people, search engines or AI tools."""


# Defaults of fields, as migrations can name them without importing this module.
new_code = partial(secrets.token_urlsafe, 12)  # an unguessable name for an address: 96 bits
new_token = partial(secrets.token_urlsafe, 18)  # an unguessable secret for a link: 144 bits
new_seed = partial(secrets.randbelow, 2**31)


class Kind(models.TextChoices):
    """Kinds never mix: not in a seat, not in a cell of a table."""

    PERSON = "person", "people"
    SIMULATED = "simulated", "simulated annotators"
    MODEL = "model", "models"


class StudyStatus(models.TextChoices):
    DRAFT = "draft"
    OPEN = "open"
    PAUSED = "paused"
    CLOSED = "closed"


class Step(models.TextChoices):
    TRAINING = "training", "training step"
    ANNOTATION = "annotation", "annotation step"
    CHECK = "check", "attention check"


class Qualification(models.TextChoices):
    """The rule after the training step (FACTS 2.1: "very low compared to ... the group")."""

    NONE = "none", "nobody is screened out"
    MINIMUM = "minimum", "a mean training S1 of at least the threshold"
    POINTS_BELOW = "points_below", "at most the threshold (in points) below the others' mean"
    SDS_BELOW = "sds_below", "at most the threshold (in SDs) below the others' mean"
    RESEARCHER = "researcher", "a researcher decides while the annotator waits"


class Role(models.TextChoices):
    """What somebody is in a study's team."""

    OWNER = "owner"
    ANALYST = "analyst"
    PAYER = "payer"


# What each role may: see the study's page and progress; read designs, answers and results; pay, and
# see money and identities; change the study, and decide about annotators ("own").
RIGHTS = {
    Role.OWNER: frozenset({"see", "read", "pay", "own"}),
    Role.ANALYST: frozenset({"see", "read"}),
    Role.PAYER: frozenset({"see", "pay"}),
}


def money(default: Decimal) -> models.DecimalField:
    """An amount in the study's currency, never negative."""
    return models.DecimalField(
        max_digits=7,
        decimal_places=2,
        default=default,
        validators=[MinValueValidator(Decimal(0))],
    )


class StudyQuerySet(models.QuerySet["Study"]):
    def locked(self) -> "StudyQuerySet":
        """With the study's lock, until the transaction ends: it comes before all other locks.

        Giving out or releasing a seat, money and the study's state are decided one at a time. Rows
        that only refer to the study can be inserted meanwhile.
        """
        return self.select_for_update(no_key=True)

    def of(self, user, right: str = "see") -> "StudyQuerySet":
        """The studies in which this researcher has that right, each with their `role`."""
        member = Member.objects.filter(study=models.OuterRef("pk"), user=user)
        role = models.Case(
            models.When(owner=user, then=models.Value(Role.OWNER)),
            default=models.Subquery(member.values("role")[:1]),
        )
        roles = [one for one, rights in RIGHTS.items() if right in rights]
        return self.annotate(role=role).filter(role__in=roles)


class Study(models.Model):
    """Tasks x shots, annotators per scenario, orders, pay and consent: what a researcher runs.

    The design can change while it is a draft. Opening freezes it: `manifest` is then the canonical
    JSON of everything that decides what annotators see, `manifest_hash` its SHA-256.
    """

    class Order(models.TextChoices):
        SHUFFLED_APART = "shuffled_apart", "shuffled, with examples of the same context kept apart"
        CONTEXTS_TOGETHER = (
            "contexts_together",
            "contexts shuffled, with the examples of a context kept together",
        )
        FILE_ORDER = "file_order", "in file order"

    owner = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="studies"
    )
    name = models.CharField(
        max_length=60,
        unique=True,
        validators=[
            RegexValidator(
                r"\A[a-z0-9][a-z0-9-]*\Z",
                "Use small letters, digits and hyphens, such as mnli-pilot.",
            )
        ],
    )
    title = models.CharField(max_length=120)
    status = models.CharField(max_length=8, choices=StudyStatus, default=StudyStatus.DRAFT)
    tasks = models.ManyToManyField(Task, related_name="studies")
    shots = models.JSONField(default=list)
    split_number = models.PositiveIntegerField(default=1, validators=[MinValueValidator(1)])
    annotators = models.PositiveIntegerField(
        default=3, validators=[MinValueValidator(1), MaxValueValidator(1000)]
    )
    training_order = models.CharField(max_length=20, choices=Order, default=Order.SHUFFLED_APART)
    annotation_order = models.CharField(max_length=20, choices=Order, default=Order.SHUFFLED_APART)
    tasks_per_worker = models.PositiveIntegerField(default=1, validators=[MinValueValidator(1)])
    help_examples_at_zero_shots = models.BooleanField(default=False)
    hourly_rate = money(default=Decimal("12.00"))
    currency = models.CharField(
        max_length=3,
        default="USD",
        validators=[RegexValidator(r"\A[A-Z]{3}\Z", "Use a three-letter code, such as USD.")],
    )
    estimated_minutes = models.PositiveIntegerField(default=60, validators=[MinValueValidator(1)])
    idle_limit_hours = models.PositiveIntegerField(default=48, validators=[MinValueValidator(1)])
    base_reward = money(default=Decimal(0))
    minimum_pay = money(default=Decimal(0))
    # With the rate it is the cap of what one person earns: needed to open where the rate is paid.
    max_paid_hours = models.DecimalField(
        max_digits=5,
        decimal_places=1,
        null=True,
        blank=True,
        validators=[MinValueValidator(Decimal("0.1"))],
    )
    # Of all people together; needed to open a paid study. Raised later by design.raise_budget.
    # Null: a study of volunteers, or one that was opened before there were budgets.
    budget = models.DecimalField(
        max_digits=9,
        decimal_places=2,
        null=True,
        blank=True,
        validators=[MinValueValidator(Decimal(0))],
    )
    idle_cutoff_seconds = models.PositiveIntegerField(
        default=60, validators=[MinValueValidator(10), MaxValueValidator(600)]
    )
    consent_text = models.TextField(default=DEFAULT_CONSENT)
    comprehension_questions = models.TextField(blank=True)
    comprehension_attempts = models.PositiveIntegerField(
        default=2, validators=[MinValueValidator(2), MaxValueValidator(10)]
    )
    qualification = models.CharField(
        max_length=12, choices=Qualification, default=Qualification.NONE
    )
    qualification_threshold = models.FloatField(
        null=True, blank=True, validators=[MinValueValidator(0)]
    )
    # So many people in a row screened out, and the study pauses; null: never.
    max_screen_outs_in_a_row = models.PositiveIntegerField(
        default=5, null=True, blank=True, validators=[MinValueValidator(1)]
    )
    decision_minutes = models.PositiveIntegerField(
        default=15, validators=[MinValueValidator(1), MaxValueValidator(240)]
    )
    attention_checks = models.PositiveIntegerField(default=0)
    exit_questionnaire = models.BooleanField(default=False)
    computer_only = models.BooleanField(default=False)
    seed = models.PositiveIntegerField(default=new_seed)
    link_code = models.CharField(max_length=40, unique=True, default=new_code)
    # Outside the frozen design: switched while the study runs, each time logged.
    open_link_on = models.BooleanField("Anybody can start by the open link", default=True)
    shared_computers = models.BooleanField(
        "Several people may take part from one browser", default=False
    )
    simulated_link_code = models.CharField(max_length=40, unique=True, default=new_code)
    manifest = models.TextField(blank=True)
    manifest_hash = models.CharField(max_length=64, blank=True)
    created_at = models.DateTimeField(auto_now_add=True)
    opened_at = models.DateTimeField(null=True, blank=True)

    objects = StudyQuerySet.as_manager()

    class Meta:
        ordering = ["-created_at"]
        verbose_name_plural = "studies"
        constraints = [
            models.CheckConstraint(
                condition=Q(status="draft", manifest_hash="")
                | (~Q(status="draft") & ~Q(manifest_hash="")),
                name="a_study_is_hashed_exactly_when_it_is_no_draft",
            ),
            models.CheckConstraint(
                condition=Q(status__in=["draft", "open", "paused", "closed"]),
                name="a_study_is_draft_open_paused_or_closed",
            ),
            models.CheckConstraint(
                condition=Q(budget__isnull=True) | Q(budget__gte=0), name="a_budget_is_an_amount"
            ),
            # Of drafts alone: what was frozen before this rule stays as it was.
            models.CheckConstraint(
                condition=~Q(status="draft")
                | Q(qualification_threshold__isnull=True)
                | Q(qualification_threshold__gte=0, qualification_threshold__lte=100),
                name="a_drafted_threshold_lies_on_its_scale",
            ),
        ]
        permissions = [
            ("spend", "May spend: publish on Prolific, pay, and set budgets above the limit")
        ]

    def __str__(self) -> str:
        return self.name

    @property
    def rights(self) -> frozenset[str]:
        """What the researcher may for whom this row was fetched (StudyQuerySet.of)."""
        return RIGHTS.get(getattr(self, "role", None), frozenset())

    @property
    def is_draft(self) -> bool:
        return self.status == StudyStatus.DRAFT

    @property
    def is_paid(self) -> bool:
        """Does it promise money? Bonuses can be given in any study."""
        return any((self.hourly_rate, self.base_reward, self.minimum_pay))

    @property
    def idle_limit(self) -> timedelta:
        return timedelta(hours=self.idle_limit_hours)

    @property
    def decision_limit(self) -> timedelta:
        """How long a worker waits at most for the researcher's decision after the training."""
        return timedelta(minutes=self.decision_minutes)


class Member(models.Model):
    """Somebody else in the team of a study; who made it (Study.owner) is its owner for ever."""

    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="members")
    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="memberships"
    )
    role = models.CharField(max_length=7, choices=Role)

    class Meta:
        ordering = ["study", "pk"]
        constraints = [
            models.UniqueConstraint(
                fields=["study", "user"], name="somebody_has_one_role_in_a_study"
            ),
            models.CheckConstraint(
                condition=Q(role__in=Role.values), name="a_member_has_a_known_role"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.user}, {self.role} of {self.study}"


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


class StudyEvent(models.Model):
    """What was done to a study outside its frozen design: opened, paused, seats added, lists."""

    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="events")
    what = models.CharField(max_length=200)
    by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.PROTECT, related_name="+"
    )
    at = models.DateTimeField(default=timezone.now)

    class Meta:
        ordering = ["at", "pk"]

    def __str__(self) -> str:
        return self.what


class AccessRule(models.Model):
    """Who may take part in a study besides its design: an entry of its allow or deny list.

    It can be made and ended while the study is open; it is never changed, so that the list can be
    told for any moment. `value` names a task or a study; `keys` holds the workers of a list of ids.
    """

    class Effect(models.TextChoices):
        ALLOW = "allow", "only"
        DENY = "deny", "nobody"

    class Criterion(models.TextChoices):
        TASK = "task", "who has met the task"
        STUDY = "study", "who qualified in the study"
        PEOPLE = "people", "who is on a list of ids"

    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="access_rules")
    effect = models.CharField(max_length=5, choices=Effect)
    criterion = models.CharField(max_length=6, choices=Criterion)
    value = models.CharField(max_length=100, blank=True)
    keys = models.JSONField(default=list, blank=True)
    created_at = models.DateTimeField(default=timezone.now)
    made_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+"
    )
    ended_at = models.DateTimeField(null=True)
    ended_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.PROTECT, related_name="+"
    )

    class Meta:
        ordering = ["created_at", "pk"]

    def __str__(self) -> str:
        about = self.value
        if self.criterion == self.Criterion.PEOPLE:
            number = f"{len(self.keys)} {'person' if len(self.keys) == 1 else 'people'}"
            about = f"{number} of {about}" if about else number
        return f"{self.get_effect_display()} {self.get_criterion_display()}: {about}"


class Scenario(models.Model):
    """One cell of a study: a task, shots, and the number of the training split."""

    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="scenarios")
    task = models.ForeignKey(Task, on_delete=models.PROTECT, related_name="scenarios")
    shots = models.PositiveIntegerField()
    split_number = models.PositiveIntegerField(null=True)
    seats = models.PositiveIntegerField()
    # Who does not consent leaves nothing but this count.
    declined = models.PositiveIntegerField(default=0)

    class Meta:
        ordering = ["study", "task__name", "shots"]
        constraints = [
            models.UniqueConstraint(
                fields=["study", "task", "shots"], name="one_scenario_per_study_task_and_shots"
            ),
            models.CheckConstraint(
                condition=Q(shots=0, split_number__isnull=True)
                | Q(shots__gt=0, split_number__isnull=False, split_number__gt=0),
                name="zero_shots_means_no_training_split",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.task.name}, {self.shots} shots"

    @cached_property
    def shows_help_examples(self) -> bool:
        return self.shots > 0 or self.study.help_examples_at_zero_shots

    @cached_property
    def promise(self) -> tuple[Decimal, str, Decimal | None]:
        """The hourly rate, its currency, and how many hours are paid at most, if that is said."""
        return self.study.hourly_rate, self.study.currency, self.study.max_paid_hours

    @cached_property
    def idle_cutoff(self) -> timedelta:
        """A gap between two signs of work counts at most so long."""
        return timedelta(seconds=self.study.idle_cutoff_seconds)
