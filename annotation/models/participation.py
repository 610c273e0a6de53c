"""Participations: one worker in one scenario, on which seat, and how far."""

import itertools
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from django.db import models
from django.db.models import F, Q, Subquery
from django.db.models.functions import Coalesce, Greatest
from django.utils import timezone

from annotation.models.answers import LONGEST_COUNTED_GAP, Turn
from annotation.models.scenario import Scenario
from annotation.models.study import Arm, Kind, Step, Study, new_token
from annotation.models.worker import Worker
from tasks import frozen
from tasks.clock import database_now
from tasks.models.choices import one_of

if TYPE_CHECKING:
    from annotation.models.recruiting import Submission

# A seat is held so long for somebody who reads the consent text.
HELD_UNTIL_CONSENT = timedelta(minutes=10)
# Somebody without a sign of work for longer than this is not at work now.
AT_WORK_WITHIN = timedelta(minutes=10)


class Status(models.TextChoices):
    ARRIVED = "arrived", "has a seat, not yet consented"
    WORKING = "working", "at work"
    WAITING = "waiting", "waiting for a decision after the training step"
    BETWEEN = "between", "between two parts"
    COMPLETED = "completed", "completed"
    SCREENED_OUT = "screened_out", "screened out"
    RETURNED = "returned", "returned the seat"
    EXPIRED = "expired", "exceeded the idle limit"
    REFUSED = "refused", "had already done this task"
    WITHDRAWN = "withdrawn", "withdrew"
    REJECTED = "rejected", "rejected on the platform"


# A live participation holds a seat; who left may take it again while it is free.
LIVE = (Status.ARRIVED, Status.WORKING, Status.WAITING, Status.BETWEEN)
MAY_RESUME = (Status.EXPIRED, Status.RETURNED)
# Who counts in a cell of a table; ParticipationQuerySet.analysed wherever rows are loaded.
ANALYSED = Q(status=Status.COMPLETED, in_analysis=True)
# Fields as long as the files of the task: deferred where many participations are loaded.
ORDERS = ("training_order", "screening_order", "annotation_order", "checks")


class ParticipationQuerySet(models.QuerySet["Participation"]):
    def live(self) -> "ParticipationQuerySet":
        return self.filter(status__in=LIVE)

    def expired_at_work(self) -> "ParticipationQuerySet":
        """Expired or returned after the first example: what a late worker would go on with."""
        begun = Turn.objects.filter(participation=models.OuterRef("pk"))
        return self.filter(models.Exists(begun), status__in=MAY_RESUME)

    def seated(self) -> "ParticipationQuerySet":
        """Those with a seat number: live, or completed and in the analysis."""
        return self.filter(seat_number__isnull=False)

    def holding_seats(self, now: datetime, study: Study) -> "ParticipationQuerySet":
        """Those of that study whose seat is taken, for everybody who looks.

        Annotators who are idle for longer than the limit keep their seat number until another one
        wants the seat (`expiry.expire_idle`), but it is free.
        """
        seated = self.filter(study=study).seated()
        return seated.exclude(pk__in=seated.idle(now, study).order_by().values("pk"))

    def unconsented(self) -> "ParticipationQuerySet":
        """Those that have a seat and were not asked for consent yet, or have not answered."""
        return self.filter(status=Status.ARRIVED)

    def analysed(self) -> "ParticipationQuerySet":
        """Those that count: completed and in the analysis."""
        return self.filter(ANALYSED)

    def in_cells(self) -> "ParticipationQuerySet":
        """Those whose cell of a table is a task and a number of shots, and nothing before it.

        In a cross-task study that is the direct arm alone.
        """
        return self.filter(scenario__arm__in=[Arm.NONE, Arm.DIRECT])

    def with_last_active(self) -> "ParticipationQuerySet":
        """Each with `last_active_at`, its last sign of work: also that the page is looked at."""
        return self.annotate(
            last_active_at=_latest("answer__submitted_at", "activity__last_at", "shown_at")
        )

    def with_last_step(self) -> "ParticipationQuerySet":
        """Each with `last_step_at`, when its work last went on: an answer, an example shown.

        A page that tells that somebody is there keeps no seat: it may be left open for ever.
        """
        return self.annotate(last_step_at=_latest("answer__submitted_at", "shown_at"))

    def at_work(self, now: datetime) -> "ParticipationQuerySet":
        """Live ones whose worker gave a sign of work within AT_WORK_WITHIN."""
        since = now - AT_WORK_WITHIN
        return self.live().with_last_active().filter(last_active_at__gte=since)  # type: ignore[misc]  # annotated

    def idle(self, now: datetime, study: Study) -> "ParticipationQuerySet":
        """Live ones of that study whose worker has done nothing for longer than they may.

        That is HELD_UNTIL_CONSENT before consent, and the study's idle limit after it. Who waits
        for a decision has that limit after the wait is over: their page then goes on by itself.
        """
        limit = study.idle_limit
        at_work = [Status.WORKING, Status.BETWEEN]
        return self.with_last_step().filter(
            Q(status__in=at_work, last_step_at__lt=now - limit)
            | Q(
                status=Status.WAITING,
                last_step_at__lt=now - study.decision_limit - limit,
            )
            | Q(
                status=Status.ARRIVED,
                last_step_at__lt=now - HELD_UNTIL_CONSENT,
            )
        )


def _latest(*of_turn: str) -> Greatest:
    """The first of these times of the latest turn that there is, or consent, arrival, return."""
    latest = Turn.objects.filter(participation=models.OuterRef("pk")).order_by("-pk")
    last_done = Coalesce(
        *(models.Subquery(latest.values(name)[:1]) for name in of_turn),
        F("consented_at"),
        F("arrived_at"),
    )
    came = Coalesce(F("returned_at"), F("arrived_at"))
    return Greatest(last_done, came)


class Participation(models.Model):
    """One worker in one scenario, from arrival to payment; it holds a seat while it is live."""

    # Stands here beside scenario so that the database can keep a worker to one at a time per study.
    study = models.ForeignKey(Study, on_delete=models.PROTECT, related_name="participations")
    scenario = models.ForeignKey(Scenario, on_delete=models.PROTECT, related_name="participations")
    worker = models.ForeignKey(Worker, on_delete=models.PROTECT, related_name="participations")
    kind = models.CharField(max_length=10, choices=Kind)
    token = models.CharField(max_length=40, unique=True, default=new_token)
    pseudonym = models.CharField(max_length=20)
    status = models.CharField(max_length=12, choices=Status, default=Status.ARRIVED)
    seat_number = models.PositiveIntegerField(null=True)
    # Two facts, each with its own log (Decision): neither follows from the other.
    in_analysis = models.BooleanField(default=True)
    is_paid = models.BooleanField(default=True)
    # Of a cross-task study, drawn when it begins; empty in the direct arm.
    upstream_order = models.JSONField(default=list)
    training_order = models.JSONField(default=list)
    screening_order = models.JSONField(default=list)
    annotation_order = models.JSONField(default=list)
    # Which examples of the annotation order are attention checks: never in S1.
    checks = models.JSONField(default=list)
    completion_code = models.CharField(max_length=20)
    arrived_at = models.DateTimeField(default=timezone.now)
    consented_at = models.DateTimeField(null=True)
    consent_text = models.ForeignKey(
        "annotation.ConsentText", null=True, on_delete=models.PROTECT, related_name="+"
    )
    returned_at = models.DateTimeField(null=True, blank=True)  # after the seat had expired
    finished_at = models.DateTimeField(null=True)
    comprehension_attempts_used = models.PositiveIntegerField(default=0)
    comprehended_at = models.DateTimeField(null=True)
    # What the rule after the training step said; not judged: null.
    qualified = models.BooleanField(null=True)
    waiting_since = models.DateTimeField(null=True)
    decided_at = models.DateTimeField(null=True)
    # Active time up to the end, kept when pay is settled: it outlives the answers.
    worked_seconds = models.FloatField(null=True)
    # Of those who completed (annotation/monitoring/flags.py): their answers change no more.
    signs = models.JSONField(null=True)
    # A random first-party cookie, hashed: the same one under two ids raises a quality flag.
    browser = models.CharField(max_length=64, blank=True)
    # The part of a study in several parts that this worker has come for (0: all of it).
    part = models.PositiveSmallIntegerField(default=0)
    # Which Allocation gave this seat.
    arrival = models.PositiveIntegerField()

    objects = ParticipationQuerySet.as_manager()

    class Meta:
        ordering = ["study", "scenario", "pk"]
        constraints = [
            one_of("kind", Kind, "a_participation_is_of_a_known_kind"),
            one_of("status", Status, "a_participation_has_a_known_status"),
            models.UniqueConstraint(
                fields=["scenario", "kind", "seat_number"], name="a_seat_is_taken_once"
            ),
            models.UniqueConstraint(
                fields=["worker", "study"],
                condition=Q(status__in=LIVE),
                name="a_worker_does_one_task_at_a_time_in_a_study",
            ),
            models.UniqueConstraint(
                fields=["study", "pseudonym"], name="a_pseudonym_is_one_participation"
            ),
            models.UniqueConstraint(
                fields=["study", "arrival"], name="an_allocation_is_of_one_participation"
            ),
            models.CheckConstraint(
                condition=Q(
                    Q(status__in=LIVE) | ANALYSED,
                    # NULL > 0 is unknown, and a check passes on unknown: both must be said.
                    seat_number__isnull=False,
                    seat_number__gt=0,
                )
                | Q(
                    ~Q(status__in=LIVE) & ~ANALYSED,
                    seat_number__isnull=True,
                ),
                name="live_or_analysed_means_seated",
            ),
        ]

    def __str__(self) -> str:
        return self.pseudonym

    @property
    def is_live(self) -> bool:
        return self.status in LIVE

    def latest_turn(self) -> "Turn | None":
        """The turn that is this participation's state, with its example."""
        turns = Turn.objects.filter(participation=self.pk)
        before_first = turns.order_by("pk").values("worked_before")[:1]
        turn = (
            turns.select_related("activity", "answer", "draft")
            .annotate(before_first=Subquery(before_first))
            .order_by("-pk")
            .first()
        )
        if turn is not None:
            turn.participation = self
            turn.first_worked_before = vars(turn)["before_first"]
            turn.example = frozen.example(turn.example_id)
        return turn

    def latest_submission(self) -> "Submission | None":
        """The platform's record of this work; for a further task, that of the visit it came from.

        Somebody who goes on with another task of the study arrives no second time at the platform.
        """
        own = self.submissions.order_by("-pk").first()
        return own or self.worker.submissions.filter(study=self.study_id).order_by("-pk").first()

    def order_of(self, step: str) -> list[int]:
        """The stored order of example ids in that step."""
        orders = {
            Step.UPSTREAM: self.upstream_order,
            Step.TRAINING: self.training_order,
            Step.SCREENING: self.screening_order,
        }
        return orders.get(Step(step), self.annotation_order)

    @property
    def judged_order(self) -> list[int]:
        """The order of the examples by which a rule may judge: training, screening, or none."""
        return self.training_order or self.screening_order

    def show(
        self,
        step: str,
        position: int,
        channel: str,
        after: "Turn | None" = None,
        until: datetime | None = None,
        shown_at: datetime | None = None,
    ) -> "Turn":
        """Put the example at that position of the step before the worker: insert its turn.

        `channel` is what the request came by that shows it. `after` is the turn that the worker
        comes from, with work counted up to `until`. Both times are now, unless they are given. The
        caller holds the participation's lock.
        """
        now = shown_at or database_now()
        if after is not None:  # clocks are set back; what is shown follows what was done
            now = max(now, after.given.submitted_at if after.given else after.shown_at)
        example = frozen.example(self.order_of(step)[position])
        turn = self.turns.create(
            example=example,
            step=Step.CHECK if example.pk in self.checks else step,
            position=position,
            shown_at=now,
            channel=channel,
            worked_before=(
                after.worked_until(until or now, self.scenario.idle_cutoff)
                if after
                else self.worked_before_first(now)
            ),
        )
        turn.first_worked_before = after.first_worked_before if after else turn.worked_before
        turn.prime_empty_relations()
        return turn

    def has_seen_an_example(self) -> bool:
        """Was an example shown to this participation, also if it was erased since?"""
        erased = Tombstone.objects.filter(participation=self, turns_erased__gt=0)
        return self.turns.exists() or erased.exists()

    def worked_before_first(self, moment: datetime) -> timedelta:
        """Time from arrival over consent and questions to the instructions, absences left out."""
        dates = [self.arrived_at, self.consented_at, self.comprehended_at, moment]
        marks = [date for date in dates if date is not None]
        gaps = (later - earlier for earlier, later in itertools.pairwise(marks))
        # Clocks of two servers differ, and are set back: no gap takes time away.
        return sum((min(max(gap, timedelta()), LONGEST_COUNTED_GAP) for gap in gaps), timedelta())


class Tombstone(models.Model):
    """Says that a participation's answers may be, or were, erased, so that counts still add up.

    The database lets turns and answers be deleted only where this row exists (see guards.py).
    """

    participation = models.OneToOneField(Participation, on_delete=models.PROTECT)
    erased_at = models.DateTimeField(default=timezone.now)
    turns_erased = models.PositiveIntegerField()

    def __str__(self) -> str:
        return f"tombstone of {self.participation_id}"
