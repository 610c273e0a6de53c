"""Who answers, and how: studies, their scenarios, workers, participations, turns and answers.

The sentences of the protocol that can be constraints are constraints here, under names that say
them. Turns, answers and their spans are insert-only: annotation/guards.py has the database refuse
anything else.
"""

import copy
import itertools
import secrets
from datetime import datetime, timedelta
from decimal import Decimal
from functools import cached_property, lru_cache

from django.conf import settings
from django.core.validators import MaxValueValidator, MinValueValidator, RegexValidator
from django.db import models
from django.db.models import F, Q
from django.utils import timezone

from tasks.models import Example, Task, example_of
from tasks.spans import QUESTION, Span
from tasks.spans import Answer as GivenAnswer

# A gap between two steps of a worker longer than this counts as an absence, not as work.
LONGEST_COUNTED_GAP = timedelta(minutes=5)
# A seat is held so long for somebody who reads the consent text.
HELD_UNTIL_CONSENT = timedelta(minutes=10)

DEFAULT_CONSENT = """\
You are invited to take part in a study of how well people do a language task after seeing a few \
examples. You will read short texts and answer questions about them.

Taking part is voluntary. You can stop at any time by closing the page. We store your answers and \
the times at which you gave them, under a random name that does not say who you are.

Please answer by yourself: without other people, without search engines and without AI tools."""


def new_code() -> str:
    """An unguessable name for an address: 96 bits."""
    return secrets.token_urlsafe(12)


def new_token() -> str:
    """An unguessable secret for a personal link: 144 bits."""
    return secrets.token_urlsafe(18)


def new_seed() -> int:
    return secrets.randbelow(2**31)


class Kind(models.TextChoices):
    """Kinds never mix: not in a seat, not in a cell of a table."""

    PERSON = "person", "people"
    SIMULATED = "simulated", "simulated annotators"
    MODEL = "model", "models"


class Step(models.TextChoices):
    TRAINING = "training", "training step"
    ANNOTATION = "annotation", "annotation step"


class StudyQuerySet(models.QuerySet["Study"]):
    def of(self, user) -> "StudyQuerySet":
        """The studies that this researcher may see."""
        return self.filter(owner=user)


class Study(models.Model):
    """Tasks x shots, annotators per scenario, orders, pay and consent: what a researcher runs.

    The design can change while it is a draft. Opening freezes it: `manifest` is then the canonical
    JSON of everything that decides what annotators see, `manifest_hash` its SHA-256.
    """

    class Status(models.TextChoices):
        DRAFT = "draft"
        OPEN = "open"
        PAUSED = "paused"
        CLOSED = "closed"

    class Order(models.TextChoices):
        SHUFFLED_APART = "shuffled_apart", "shuffled, examples of one context apart"
        CONTEXTS_TOGETHER = "contexts_together", "contexts shuffled, their examples together"
        FILE_ORDER = "file_order", "in the order of the file"

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
    status = models.CharField(max_length=8, choices=Status, default=Status.DRAFT)
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
    hourly_rate = models.DecimalField(
        max_digits=7,
        decimal_places=2,
        default=Decimal("12.00"),
        validators=[MinValueValidator(Decimal(0))],
    )
    currency = models.CharField(
        max_length=3,
        default="USD",
        validators=[RegexValidator(r"\A[A-Z]{3}\Z", "Use a three-letter code, such as USD.")],
    )
    estimated_minutes = models.PositiveIntegerField(default=60, validators=[MinValueValidator(1)])
    idle_limit_hours = models.PositiveIntegerField(default=48, validators=[MinValueValidator(1)])
    consent_text = models.TextField(default=DEFAULT_CONSENT)
    seed = models.PositiveIntegerField(default=new_seed)
    link_code = models.CharField(max_length=40, unique=True, default=new_code)
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
        ]

    def __str__(self) -> str:
        return self.name

    @property
    def is_draft(self) -> bool:
        return self.status == self.Status.DRAFT

    @property
    def idle_limit(self) -> timedelta:
        return timedelta(hours=self.idle_limit_hours)


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


@lru_cache(maxsize=1024)
def _frozen_scenario(pk: int) -> Scenario:
    scenario = Scenario.objects.select_related("task", "study").get(pk=pk)
    # What it takes from the study is worked out now; then the study is let go, as it does change.
    scenario.shows_help_examples  # noqa: B018
    del scenario._state.fields_cache["study"]
    return scenario


def scenario_of(participation: "Participation") -> Scenario:
    """The scenario of that participation with its task, read once in each process.

    Somebody has a seat in it, so it is frozen (DESIGN section 3, invariant 8). Its study is not.
    """
    return copy.copy(_frozen_scenario(participation.scenario_id))


class PersonalLink(models.Model):
    """A one-time link with a name of the researcher's choice: its holder is one worker."""

    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="personal_links")
    name = models.CharField(max_length=200)
    code = models.CharField(max_length=40, unique=True, default=new_code)
    made_at = models.DateTimeField(default=timezone.now)

    class Meta:
        ordering = ["pk"]
        constraints = [
            models.UniqueConstraint(
                fields=["study", "name"], name="a_name_has_one_personal_link_in_a_study"
            )
        ]

    def __str__(self) -> str:
        return self.name


class Worker(models.Model):
    """Somebody (or something) that answers. `key` is a keyed hash of recruiter and id."""

    key = models.CharField(max_length=64, unique=True)
    recruiter = models.CharField(max_length=20)
    kind = models.CharField(max_length=10, choices=Kind)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=Q(kind__in=Kind.values), name="a_worker_is_of_a_known_kind"
            )
        ]

    def __str__(self) -> str:
        return f"{self.kind} {self.key[:8]}"


class Exposure(models.Model):
    """This worker has seen an example of this task: at most once, in any version, for ever.

    No foreign key: the row must outlive the worker, the study and every purge.
    """

    worker_key = models.CharField(max_length=64)
    task_name = models.CharField(max_length=40)
    since = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["worker_key", "task_name"], name="a_worker_takes_part_once_per_task"
            )
        ]

    def __str__(self) -> str:
        return f"{self.worker_key[:8]} {self.task_name}"


class ParticipationQuerySet(models.QuerySet["Participation"]):
    def live(self) -> "ParticipationQuerySet":
        return self.filter(status__in=Participation.LIVE)

    def expired_at_work(self) -> "ParticipationQuerySet":
        """Expired after the first example was shown: what a late worker would go on with."""
        begun = Turn.objects.filter(participation=models.OuterRef("pk"))
        return self.filter(models.Exists(begun), status=Participation.Status.EXPIRED)

    def seated(self) -> "ParticipationQuerySet":
        """Those that hold a seat: live, or completed and in the analysis."""
        return self.filter(seat_number__isnull=False)

    def in_tables(self) -> "ParticipationQuerySet":
        """Those that a cell of a table is made of: completed and in the analysis."""
        return self.filter(status=Participation.Status.COMPLETED, in_analysis=True)

    def idle(self, now: datetime, limit: timedelta) -> "ParticipationQuerySet":
        """Live ones whose worker has done nothing for longer than they may.

        That is HELD_UNTIL_CONSENT before consent, and the study's idle limit after it.
        """
        latest = Turn.objects.filter(participation=models.OuterRef("pk")).order_by("-pk")
        last_done = models.functions.Coalesce(
            models.Subquery(latest.values("answer__submitted_at")[:1]),
            models.Subquery(latest.values("shown_at")[:1]),
            F("consented_at"),
            F("arrived_at"),
        )
        came = models.functions.Coalesce(F("returned_at"), F("arrived_at"))
        return self.annotate(last_active_at=models.functions.Greatest(last_done, came)).filter(
            Q(status=Participation.Status.WORKING, last_active_at__lt=now - limit)
            | Q(
                status=Participation.Status.ARRIVED,
                last_active_at__lt=now - HELD_UNTIL_CONSENT,
            )
        )


class Participation(models.Model):
    """One worker in one scenario, from arrival to payment; it holds a seat while it is live."""

    class Status(models.TextChoices):
        ARRIVED = "arrived", "has a seat, consent not given yet"
        WORKING = "working", "at work"
        COMPLETED = "completed", "completed"
        EXPIRED = "expired", "idle for longer than the study's limit"
        REFUSED = "refused", "had done this task before"
        WITHDRAWN = "withdrawn", "withdrew their answers"

    LIVE = (Status.ARRIVED, Status.WORKING)

    # Stands here beside scenario so that the database can keep a worker to one at a time per study.
    study = models.ForeignKey(Study, on_delete=models.PROTECT, related_name="participations")
    scenario = models.ForeignKey(Scenario, on_delete=models.PROTECT, related_name="participations")
    worker = models.ForeignKey(Worker, on_delete=models.PROTECT, related_name="participations")
    kind = models.CharField(max_length=10, choices=Kind)
    token = models.CharField(max_length=40, unique=True, default=new_token)
    pseudonym = models.CharField(max_length=20)
    status = models.CharField(max_length=10, choices=Status, default=Status.ARRIVED)
    seat_number = models.PositiveIntegerField(null=True)
    in_analysis = models.BooleanField(default=True)
    training_order = models.JSONField(default=list)
    annotation_order = models.JSONField(default=list)
    completion_code = models.CharField(max_length=20)
    arrived_at = models.DateTimeField(default=timezone.now)
    consented_at = models.DateTimeField(null=True)
    returned_at = models.DateTimeField(null=True, blank=True)  # after the seat had expired
    finished_at = models.DateTimeField(null=True)

    objects = ParticipationQuerySet.as_manager()

    class Meta:
        ordering = ["study", "scenario", "pk"]
        constraints = [
            models.UniqueConstraint(
                fields=["scenario", "kind", "seat_number"], name="a_seat_is_taken_once"
            ),
            models.UniqueConstraint(
                fields=["worker", "study"],
                condition=Q(status__in=["arrived", "working"]),
                name="a_worker_does_one_task_at_a_time_in_a_study",
            ),
            models.UniqueConstraint(
                fields=["study", "pseudonym"], name="a_pseudonym_is_one_participation"
            ),
            models.CheckConstraint(
                condition=Q(
                    Q(status__in=["arrived", "working"]) | Q(status="completed", in_analysis=True),
                    # NULL > 0 is unknown, and a check passes on unknown: both must be said.
                    seat_number__isnull=False,
                    seat_number__gt=0,
                )
                | Q(
                    ~Q(status__in=["arrived", "working"])
                    & ~Q(status="completed", in_analysis=True),
                    seat_number__isnull=True,
                ),
                name="live_or_analysed_means_seated",
            ),
            models.CheckConstraint(
                condition=Q(
                    status__in=[
                        "arrived",
                        "working",
                        "completed",
                        "expired",
                        "refused",
                        "withdrawn",
                    ]
                ),
                name="a_participation_has_a_known_status",
            ),
        ]

    def __str__(self) -> str:
        return self.pseudonym

    @property
    def is_live(self) -> bool:
        return self.status in self.LIVE

    def latest_turn(self) -> "Turn | None":
        """The turn that is this participation's state, with its example."""
        turn = self.turns.order_by("-pk").first()
        if turn is not None:
            turn.example = example_of(turn.example_id)
            if turn.step == Step.ANNOTATION and self.status == self.Status.WORKING:
                # An answer is stored together with what follows it, so the last has none yet.
                turn.has_no_answer_yet()
        return turn

    def order_of(self, step: str) -> list[int]:
        """The stored order of example ids in that step."""
        return self.training_order if step == Step.TRAINING else self.annotation_order

    def show(self, step: str, position: int, after: "Turn | None" = None) -> "Turn":
        """Put the example at that position of the step before the worker: insert its turn.

        `after` is the turn that the worker comes from. The caller holds the participation's lock.
        """
        now = timezone.now()
        turn = self.turns.create(
            example=example_of(self.order_of(step)[position]),
            step=step,
            position=position,
            shown_at=now,
            worked_before=after.worked_until(now) if after else timedelta(),
        )
        turn.has_no_answer_yet()
        return turn


class Turn(models.Model):
    """One example put before one participation; made when it is first shown. Insert-only."""

    participation = models.ForeignKey(
        Participation, on_delete=models.PROTECT, related_name="turns", db_index=False
    )
    example = models.ForeignKey(Example, on_delete=models.PROTECT, related_name="turns")
    step = models.CharField(max_length=10, choices=Step)
    position = models.PositiveIntegerField()
    shown_at = models.DateTimeField(default=timezone.now)
    # Time worked before this example was shown; absences are left out (LONGEST_COUNTED_GAP).
    worked_before = models.DurationField(default=timedelta)

    class Meta:
        ordering = ["pk"]
        constraints = [
            models.UniqueConstraint(
                fields=["participation", "example"],
                name="one_turn_per_participation_and_example",
            ),
            models.UniqueConstraint(
                fields=["participation", "step", "position"],
                name="one_turn_per_position_of_a_step",
            ),
            models.CheckConstraint(
                condition=Q(step__in=Step.values), name="a_turn_belongs_to_a_known_step"
            ),
        ]
        # For the latest turn of a participation, which every page asks for.
        indexes = [models.Index(fields=["participation", "-id"], name="latest_turn")]

    def __str__(self) -> str:
        return f"{self.participation} {self.step} {self.position}"

    @property
    def given(self) -> "Answer | None":
        """The stored answer, or None while the example is still a question."""
        return getattr(self, "answer", None)

    def has_no_answer_yet(self) -> None:
        """Spare `given` the question to the database."""
        self._meta.get_field("answer").set_cached_value(self, None)

    def worked_until(self, moment: datetime) -> timedelta:
        """Time worked by this participation up to that moment, absences left out."""
        submitted_at = self.given.submitted_at if self.given else None
        marks = [self.shown_at, submitted_at, moment] if submitted_at else [self.shown_at, moment]
        gaps = (later - earlier for earlier, later in itertools.pairwise(marks))
        return sum((min(gap, LONGEST_COUNTED_GAP) for gap in gaps), self.worked_before)


class Answer(models.Model):
    """What was submitted for a turn: spans, a label, or the explicit "no answer". Insert-only.

    S1 is stored with it (DESIGN section 4): answer and gold cannot change, so it cannot go stale.
    """

    turn = models.OneToOneField(Turn, on_delete=models.PROTECT, primary_key=True)
    no_answer = models.BooleanField()
    label = models.CharField(max_length=100, blank=True)
    s1 = models.FloatField()
    tokeniser = models.CharField(max_length=10)
    submitted_at = models.DateTimeField(default=timezone.now)

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=Q(s1__gte=0.0, s1__lte=1.0), name="s1_lies_between_0_and_1"
            ),
            models.CheckConstraint(
                condition=Q(no_answer=False) | Q(label=""), name="no_answer_means_no_label"
            ),
        ]

    def __str__(self) -> str:
        return f"answer to {self.turn_id}"

    def as_given(self) -> GivenAnswer:
        """The answer as the pure modules know it, spans in order."""
        spans = tuple(
            Span(span.segment, span.start, span.end, span.text) for span in self.spans.all()
        )
        return GivenAnswer(spans, self.label, self.no_answer)


class AnswerSpan(models.Model):
    """One highlighted span of an answer, in Unicode code points of its segment. Insert-only."""

    answer = models.ForeignKey(Answer, on_delete=models.PROTECT, related_name="spans")
    segment = models.SmallIntegerField()
    start = models.PositiveIntegerField()
    end = models.PositiveIntegerField()
    text = models.TextField()

    class Meta:
        ordering = ["answer", "segment", "start"]
        constraints = [
            models.UniqueConstraint(
                fields=["answer", "segment", "start"], name="spans_of_an_answer_start_apart"
            ),
            models.CheckConstraint(
                condition=Q(start__lt=F("end")), name="a_span_starts_before_it_ends"
            ),
            models.CheckConstraint(
                condition=Q(segment__gte=QUESTION),
                name="a_span_stands_in_a_segment_or_the_question",
            ),
        ]

    def __str__(self) -> str:
        return self.text


class Tombstone(models.Model):
    """Says that a participation's answers may be, or were, erased, so that counts still add up.

    The database lets turns and answers be deleted only where this row exists (see guards.py).
    """

    participation = models.OneToOneField(Participation, on_delete=models.PROTECT)
    erased_at = models.DateTimeField(default=timezone.now)
    turns_erased = models.PositiveIntegerField()

    def __str__(self) -> str:
        return f"tombstone of {self.participation_id}"


class Allocation(models.Model):
    """Why a scenario was chosen for an arrival: which could be joined, and how full they were.

    `arrival` counts the choices made in the study, for all kinds. With the study's seed it decides
    ties, so that every choice can be made again from this row.
    """

    study = models.ForeignKey(Study, on_delete=models.PROTECT, related_name="allocations")
    arrival = models.PositiveIntegerField()
    kind = models.CharField(max_length=10, choices=Kind)
    # [[key of the scenario, seats taken, seats], ...] of those that could be joined.
    candidates = models.JSONField()
    scenario = models.ForeignKey(Scenario, on_delete=models.PROTECT, related_name="allocations")
    at = models.DateTimeField(default=timezone.now)

    class Meta:
        ordering = ["study", "arrival"]
        constraints = [
            models.UniqueConstraint(
                fields=["study", "arrival"], name="each_arrival_is_allocated_once"
            )
        ]

    def __str__(self) -> str:
        return f"{self.study} arrival {self.arrival}"


class AnalysisDecision(models.Model):
    """Somebody took a participation out of the analysis, or back in, and said why."""

    participation = models.ForeignKey(
        Participation, on_delete=models.PROTECT, related_name="analysis_decisions"
    )
    in_analysis = models.BooleanField()
    reason = models.TextField()
    by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    at = models.DateTimeField(default=timezone.now)

    class Meta:
        ordering = ["at", "pk"]
        constraints = [
            models.CheckConstraint(condition=~Q(reason=""), name="a_decision_has_a_reason")
        ]

    def __str__(self) -> str:
        return f"{self.participation} {'in' if self.in_analysis else 'out'}"
