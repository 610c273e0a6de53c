"""Studies and their teams. Opening a study freezes its design."""

import secrets
from datetime import timedelta
from decimal import Decimal
from functools import partial
from typing import TYPE_CHECKING

from django.contrib.auth.models import User
from django.core.signing import Signer
from django.core.validators import MaxValueValidator, MinValueValidator, RegexValidator
from django.db import models
from django.db.models import Q

from annotation.models.options import (
    DEFAULT_CONSENT,
    SCALES,
    Order,
    ProlificReward,
    Qualification,
    StudyOptions,
)
from tasks.models import Task
from tasks.models.choices import LanguageField, Row, check, money, one_of, unique

# Default values of fields, which have names so that migrations can import them.
new_code = partial(secrets.token_urlsafe, 12)  # for URLs that cannot be guessed: 96 bits
new_token = partial(secrets.token_urlsafe, 18)  # for secret links: 144 bits


class StudyStatus(models.TextChoices):
    DRAFT = "draft"
    OPEN = "open"
    PAUSED = "paused"
    CLOSED = "closed"


class Role(models.TextChoices):
    OWNER = "owner"
    ANALYST = "analyst"
    PAYER = "payer"


# Rights by role. "see": the study's page and progress. "read": designs, answers and results. "pay":
# money and identities. "own": changing the study and deciding about annotators.
RIGHTS = {
    Role.OWNER: frozenset({"see", "read", "pay", "own"}),
    Role.ANALYST: frozenset({"see", "read"}),
    Role.PAYER: frozenset({"see", "pay"}),
}


class StudyQuerySet(models.QuerySet["Study"]):
    def covering_test_scores(self) -> "StudyQuerySet":
        """Return studies that still hide human test scores (Study.covers_test_scores)."""
        running = [StudyStatus.OPEN, StudyStatus.PAUSED]
        return self.filter(hide_test_scores=True, rehearsal=False, status__in=running)

    def visible_to(self, user: User, right: str = "see") -> "StudyQuerySet":
        """Return studies for which the user has this right, annotated with their `role`."""
        member = Member.objects.filter(study=models.OuterRef("pk"), user=user)
        role = models.Case(
            models.When(owner=user, then=models.Value(Role.OWNER)),
            default=models.Subquery(member.values("role")[:1]),
        )
        roles = [name for name, rights in RIGHTS.items() if right in rights]
        # Exclude deleted studies.
        return self.annotate(role=role).filter(role__in=roles, tombstone__isnull=True)


class Study(StudyOptions, Row):
    """A researcher's study: tasks, shots, annotators per scenario, orders, pay and consent.

    A draft's design can change. Opening the study freezes it: from then on, `manifest` is the
    canonical JSON of everything that determines what annotators see, and `manifest_hash` is its
    SHA-256. Its lock (`locking`) serialises decisions about seats, money and the study's state, and
    must be the first lock taken. Rows that refer to the study can still be inserted.
    """

    owner = models.ForeignKey(User, on_delete=models.PROTECT, related_name="studies")
    name = models.CharField(
        max_length=60,
        unique=True,
        help_text="Used in links and file names. Enter lower-case letters, digits and hyphens.",
        validators=[
            RegexValidator(
                r"\A[a-z0-9][a-z0-9-]*\Z",
                "Use lower-case letters, digits and hyphens, such as mnli-pilot.",
            )
        ],
    )
    title = models.CharField(max_length=120, help_text="Shown to annotators.")
    status = models.CharField(max_length=8, choices=StudyStatus, default=StudyStatus.DRAFT)
    tasks = models.ManyToManyField(Task, related_name="studies")
    shots = models.JSONField(
        default=list,
        help_text="Numbers separated by spaces, such as 0 10 20 30; 0 means no training step.",
    )
    splits = models.JSONField(
        "training splits",
        default=partial(list, (1,)),
        help_text="Numbers separated by spaces, such as 1 or 1 2 3. Each split is a separate"
        " scenario with separate seats.",
    )
    upstream_tasks = models.ManyToManyField(
        Task, related_name="upstream_in", blank=True,
        help_text="Cross-task studies only. The upstream arm trains on these tasks, with feedback,"
        " before the unseen task. The tasks above are then the unseen tasks.",
    )  # fmt: skip
    sham_task = models.ForeignKey(
        Task, null=True, blank=True, on_delete=models.PROTECT, related_name="sham_in",
        help_text="Cross-task studies only. A neutral task, of which the sham arm answers the same"
        " number of examples.",
    )  # fmt: skip
    upstream_examples = models.PositiveIntegerField(
        "examples of each upstream task", null=True, blank=True,
        help_text="Cross-task studies only. Leave blank for an ordinary study.",
        validators=[MinValueValidator(1), MaxValueValidator(200)],
    )  # fmt: skip
    partition = models.CharField(
        "CrossFit partition", max_length=80, blank=True,
        help_text="Cross-task studies only. Restricts the unseen and upstream tasks to this"
        " published partition.",
    )  # fmt: skip
    annotators = models.PositiveIntegerField(
        "annotators per scenario",
        default=3,
        validators=[MinValueValidator(1), MaxValueValidator(1000)],
        help_text="Seats for each task and number of shots.",
    )
    tasks_per_worker = models.PositiveIntegerField(
        default=1, validators=[MinValueValidator(1)],
        help_text="How many of the study's tasks one person can do, one after another.",
    )  # fmt: skip
    hourly_rate = money(
        default=Decimal("12.00"),
        help_text="All annotators earn at least this rate for the time they work, even if they"
        " stop early. Enter 0 for volunteers.",
    )
    currency = models.CharField(
        max_length=3,
        default="USD",
        validators=[RegexValidator(r"\A[A-Z]{3}\Z", "Use a three-letter code, such as USD.")],
        help_text="Three-letter code for the rate and the budget.",
    )
    idle_limit_hours = models.PositiveIntegerField(
        "idle limit (hours)",
        default=48,
        help_text="A seat is released after this much time without an answer.",
        validators=[MinValueValidator(1), MaxValueValidator(8760, "Enter at most 8760.")],  # a year
    )
    base_reward = money(help_text="Minimum earnings for annotators who complete the study.")
    minimum_pay = money(help_text="Minimum earnings for annotators who have seen an example.")
    max_paid_hours = models.DecimalField(
        "maximum paid hours", max_digits=5, decimal_places=1, null=True, blank=True,
        help_text="Caps each annotator's earnings, including waiting time and top-ups. Annotators"
        " see this limit. It is required to open a study that pays by the hour.",
        validators=[MinValueValidator(Decimal("0.1"))],
    )  # fmt: skip
    budget = models.DecimalField(
        "study budget", max_digits=9, decimal_places=2, null=True, blank=True,
        help_text="A seat is assigned only if the budget covers the cap for all seated annotators"
        " plus one more. A budget is required to open a paid study. Platform fees aren't included.",
        validators=[MinValueValidator(Decimal(0))],
    )  # fmt: skip
    consent_text = models.TextField(
        default=DEFAULT_CONSENT, help_text="In Markdown. Changing the text creates a new version."
    )
    qualification = models.CharField(
        "screening after training", max_length=12, choices=Qualification,
        default=Qualification.NONE,
        help_text="This can't be changed once the study is open. Annotators who are screened out"
        " are paid for their time.",
    )  # fmt: skip
    qualification_threshold = models.FloatField(
        "screening threshold", null=True, blank=True,
        help_text="; ".join(f"{rule.label}: {words}" for rule, (_max, words) in SCALES.items()),
        validators=[MinValueValidator(0)],
    )  # fmt: skip
    screening_examples = models.PositiveIntegerField(
        "screening examples at zero shots",
        default=0,
        help_text="Answered in place of the training step, without a reveal. They are used by the"
        " screening rule and excluded from all scores, and are drawn from training examples that"
        " this study doesn't show. Enter 0 for no screening at zero shots.",
        validators=[MaxValueValidator(1000)],
    )
    anchor_examples = models.PositiveIntegerField(
        default=0,
        help_text="Answered by all annotators of a task before training, without a reveal. Their"
        " score shows whether annotators in different arms are equally good. It isn't part of any"
        " other score and isn't used for screening. The examples are drawn from training examples"
        " that this study doesn't show. Enter 0 for none.",
        validators=[MaxValueValidator(1000)],
    )
    adjusts_for_anchors = models.BooleanField(
        "the primary contrast is adjusted for the anchor score (ANCOVA)",
        default=False,
        help_text="Both contrasts are reported. If this is off, the raw contrast is primary.",
    )
    programs_as_people = models.BooleanField(
        "programs may take human annotators' seats through the API",
        default=False,
        help_text="If this is off, human annotators can take part only in a browser, and the API"
        " refuses them. If it is on, every table states for how many annotators a program"
        " answered. Frozen with the design.",
    )
    interface_language = LanguageField(
        "language of the annotators' pages",
        help_text="Applies to buttons, tool instructions and messages. Task texts aren't"
        " translated.",
    )
    rehearsal = models.BooleanField(
        "a rehearsal, for simulated annotators",
        default=False,
        help_text="For testing a design. A rehearsal can never become a real study.",
    )
    hide_test_scores = models.BooleanField(
        "hide human test scores until the study is closed",
        default=True,
        help_text="Scores are hidden from all users on pages, in files and in the API, so that"
        " results can't influence when you stop. Training scores remain visible for screening"
        " decisions. This setting is recorded with the design, and rehearsals ignore it.",
    )
    options = models.JSONField(default=dict)  # the values of StudyOptions
    seed = models.PositiveIntegerField(
        default=partial(secrets.randbelow, 2**31),
        help_text="Sets the order of examples and breaks ties between scenarios.",
    )
    link_code = models.CharField(max_length=40, unique=True, default=new_code)
    # Not part of the frozen design: these can be changed while the study runs, and are logged.
    open_link_on = models.BooleanField(
        "Anyone can join through the open link",
        default=True,
        help_text="If this is off, people need a personal link or have to come from a platform.",
    )
    shared_computers = models.BooleanField(
        "Several people may take part from one browser",
        default=False,
        help_text="The browser doesn't identify people, so one person could take part again.",
    )
    shared_address = models.BooleanField(
        "Many people may start from one IP address, such as a class", default=False,
        help_text="If this is off, the number of starts per hour from one address is limited.",
    )  # fmt: skip
    # IDs, or the study with its answers, are deleted after these dates. If null, only manually.
    identities_until = models.DateField("delete identities after", null=True, blank=True)
    answers_until = models.DateField("delete the study after", null=True, blank=True)
    manifest_hash = models.CharField(max_length=64, blank=True)
    created_at = models.DateTimeField(auto_now_add=True)
    opened_at = models.DateTimeField(null=True, blank=True)
    # Hides the study from the list, but has no other effect.
    archived_at = models.DateTimeField(null=True, blank=True)

    if TYPE_CHECKING:
        role: Role  # annotated by StudyQuerySet.visible_to

    scope = RIGHTS[Role.OWNER]  # rights covered by the request's API token; all on pages
    objects = StudyQuerySet.as_manager()
    simulated_links = Signer(salt="link for simulated annotators", sep=".")

    class Meta:
        ordering = ["-created_at"]
        verbose_name_plural = "studies"
        constraints = [
            one_of("status", StudyStatus, "a_study_is_draft_open_paused_or_closed"),
            one_of("options__training_order", Order, "a_study_trains_in_a_known_order"),
            one_of("options__annotation_order", Order, "a_study_annotates_in_a_known_order"),
            one_of("qualification", Qualification, "a_study_has_a_known_qualification_rule"),
            one_of("options__prolific_reward", ProlificReward, "a_study_has_a_known_reward"),
            check(
                "a_screening_set_serves_a_rule",
                Q(screening_examples=0) | ~Q(qualification=Qualification.NONE),
            ),
            check(
                "an_adjusted_contrast_needs_anchors",
                Q(anchor_examples__gt=0) | Q(adjusts_for_anchors=False),
            ),
            check(
                "anchors_are_not_of_a_cross_task_study",
                Q(anchor_examples=0) | Q(upstream_examples__isnull=True),
            ),
            check(
                "annotators_without_contexts_see_none",
                Q(options__context_free_annotators=0)
                | Q(anchor_examples=0, screening_examples=0, upstream_examples__isnull=True),
            ),
            check(
                "confidence_is_asked_on_a_share",
                Q(options__confidence_share__gte=0, options__confidence_share__lte=1),
            ),
            check(
                "a_reason_follows_a_question_about_confidence",
                Q(options__asks_reasons=False) | Q(options__confidence_share__gt=0),
            ),
            # Languages depend on message catalogues, so this constraint does not list them.
            check("a_study_speaks_a_language", ~Q(interface_language="")),
            check(
                "a_study_is_hashed_exactly_when_it_is_no_draft",
                Q(status="draft", manifest_hash="") | (~Q(status="draft") & ~Q(manifest_hash="")),
            ),
            check(
                "a_cross_task_study_has_a_sham_task_and_one_task_per_worker",
                Q(upstream_examples__isnull=True, sham_task__isnull=True, partition="")
                | Q(upstream_examples__gt=0, sham_task__isnull=False, tasks_per_worker=1),
            ),
            check("a_budget_is_an_amount", Q(budget__isnull=True) | Q(budget__gte=0)),
            check(
                "an_equivalence_margin_is_some_points",
                Q(options__equivalence_margin=None)
                | Q(options__equivalence_margin__gte=0.1, options__equivalence_margin__lte=100),
            ),
            check(
                "a_threshold_lies_on_its_scale",
                Q(qualification_threshold__isnull=True)
                | Q(qualification_threshold__gte=0, qualification_threshold__lte=100),
            ),
        ]
        permissions = [
            ("spend", "May spend: publish on Prolific, pay, and set budgets above the limit")
        ]

    def __str__(self) -> str:
        return self.name

    @property
    def simulated_link_code(self) -> str:
        return self.simulated_links.sign(self.link_code)

    @property
    def rights(self) -> frozenset[str]:
        """Return the rights of the user who was passed to `visible_to`, restricted to `scope`."""
        return RIGHTS[self.role] & self.scope if hasattr(self, "role") else frozenset()

    @property
    def manifest(self) -> str:
        """Return the canonical JSON of the frozen design, or "" for a draft. This runs a query."""
        stored = getattr(self, "stored_manifest", None)
        return stored.text if stored else ""

    @property
    def is_cross_task(self) -> bool:
        return self.upstream_examples is not None

    @property
    def trained_tasks(self) -> list[Task]:
        """Return the upstream tasks and the sham task, or [] if the study is not cross-task."""
        return [*self.upstream_tasks.all(), *filter(None, [self.sham_task])]

    @property
    def is_draft(self) -> bool:
        return self.status == StudyStatus.DRAFT

    @property
    def is_closed(self) -> bool:
        return self.status == StudyStatus.CLOSED

    @property
    def is_running(self) -> bool:
        return self.status in (StudyStatus.OPEN, StudyStatus.PAUSED)

    @property
    def covers_test_scores(self) -> bool:
        """Return whether human test scores are still hidden, until the study is closed."""
        return self.hide_test_scores and self.is_running and not self.rehearsal

    @property
    def is_paid(self) -> bool:
        """Return whether the study promises pay. Bonuses are possible in any study."""
        return any((self.hourly_rate, self.base_reward, self.minimum_pay))

    @property
    def idle_limit(self) -> timedelta:
        return timedelta(hours=self.idle_limit_hours)

    @property
    def decision_limit(self) -> timedelta:
        return timedelta(minutes=self.decision_minutes)


class Member(models.Model):
    """A member of a study's team. The creator (Study.owner) has no row, but is always an owner."""

    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="members")
    user = models.ForeignKey(User, on_delete=models.CASCADE, related_name="memberships")
    role = models.CharField(max_length=7, choices=Role)

    class Meta:
        ordering = ["study", "pk"]
        constraints = [
            one_of("role", Role, "a_member_has_a_known_role"),
            unique(
                "somebody_has_one_role_in_a_study",
                ["study", "user"],
                message="This person is already in the team.",
            ),
        ]
