"""Participations: a worker in a scenario, with a seat and their progress."""

import copy
import itertools
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from functools import lru_cache
from typing import TYPE_CHECKING

from django.contrib.auth.models import User
from django.db import connection, models
from django.db.models import F, Q
from django.db.models.functions import Coalesce, Greatest
from django.utils import timezone

from annotation.models.answers import LONGEST_COUNTED_GAP, Answer, Turn
from annotation.models.arrivals import Worker
from annotation.models.scenario import Kind, Scenario, Step, frozen_scenario
from annotation.models.study import Study, new_token
from tasks import frozen
from tasks.answers.choices import drawn_order
from tasks.cards import Card
from tasks.clock import database_now
from tasks.models import Example
from tasks.models.choices import CELL_ARMS, Row, check, one_of, unique

if TYPE_CHECKING:
    from annotation.models.recruiting import Submission

# How long a seat is reserved for a visitor who is reading the consent text.
HELD_UNTIL_CONSENT = timedelta(minutes=10)
# Workers who have been inactive for longer than this are considered absent.
AT_WORK_WITHIN = timedelta(minutes=10)


class Status(models.TextChoices):
    ARRIVED = "arrived", "has a seat, has not consented"
    WORKING = "working", "in progress"
    WAITING = "waiting", "waiting for a decision after the training step"
    BETWEEN = "between", "between two parts"
    COMPLETED = "completed", "completed"
    SCREENED_OUT = "screened_out", "screened out"
    RETURNED = "returned", "returned the seat"
    EXPIRED = "expired", "exceeded the idle limit"
    REFUSED = "refused", "had already done this task"
    WITHDRAWN = "withdrawn", "withdrew"
    REJECTED = "rejected", "rejected on the platform"


# Live participations hold a seat. Workers who left may resume as long as a seat is free.
LIVE = (Status.ARRIVED, Status.WORKING, Status.WAITING, Status.BETWEEN)
MAY_RESUME = (Status.EXPIRED, Status.RETURNED)
# Participations in table cells. Use ParticipationQuerySet.analysed to load the rows.
ANALYSED = Q(status=Status.COMPLETED, in_analysis=True)
# Large fields, as long as the task's files, so defer them when loading many participations.
ORDERS = ("anchor_order", "training_order", "screening_order", "annotation_order", "checks")
# Plain SQL, because generating these queries with Django takes ten times as long.
BY_TOKEN = "SELECT {} FROM annotation_participation WHERE token = %s"
LOCK = " FOR NO KEY UPDATE"
# PostgreSQL finds better plans for these subqueries than for EXISTS or joins.
LATEST_TURN = """
    SELECT {},
           (SELECT turn_id FROM annotation_answer WHERE turn_id = turn.id) AS has_answer,
           (SELECT turn_id FROM annotation_activity WHERE turn_id = turn.id) AS has_activity,
           (SELECT turn_id FROM annotation_draft WHERE turn_id = turn.id) AS has_draft,
           (SELECT turn_id FROM annotation_confidence WHERE turn_id = turn.id) AS has_confidence
    FROM annotation_turn turn
    WHERE participation_id = %s ORDER BY id DESC LIMIT 1
"""


def choice_order(design: Study, pseudonym: str, choices: Sequence[str]) -> list[int]:
    """Return the positions of labels or options, in the order in which this annotator sees them.

    Returns [] if there are none, or if the design does not shuffle them.
    """
    return drawn_order(choices, f"{design.seed}:{pseudonym}") if design.shuffles_options else []


class ParticipationQuerySet(models.QuerySet["Participation"]):
    def lock(self, token: str) -> "Participation":
        """Return the participation with this token, locked until the end of the transaction.

        Every step takes this lock, so requests from two tabs (or a double click) run one after the
        other. Raises Participation.DoesNotExist.
        """
        lock = LOCK if connection.vendor == "postgresql" else ""
        participation = self.model.first(BY_TOKEN + lock, token)
        if participation is None:
            raise self.model.DoesNotExist
        participation.scenario = copy.copy(frozen_scenario(participation.scenario_id))
        return participation

    def live(self) -> "ParticipationQuerySet":
        return self.filter(status__in=LIVE)

    def expired_at_work(self) -> "ParticipationQuerySet":
        """Return expired or returned participations that saw an example and can be resumed."""
        turns = Turn.objects.filter(participation=models.OuterRef("pk"))
        return self.filter(models.Exists(turns), status__in=MAY_RESUME)

    def seated(self) -> "ParticipationQuerySet":
        """Return participations with a seat: live ones, and completed ones in the analysis."""
        return self.filter(seat_number__isnull=False)

    def holding_seats(self, now: datetime, study: Study) -> "ParticipationQuerySet":
        """Return the participations that currently occupy a seat in the study.

        Idle annotators keep their seat number until the next arrival or tick
        (`seats.expire_idle`), but their seats count as free.
        """
        seated = self.filter(study=study).seated()
        return seated.exclude(pk__in=seated.idle(now, study).order_by().values("pk"))

    def analysed(self) -> "ParticipationQuerySet":
        return self.filter(ANALYSED)

    def qualified_in(self, study_name: str) -> "ParticipationQuerySet":
        participations = self.filter(study__name=study_name)
        completed = participations.filter(status=Status.COMPLETED).exclude(qualified=False)
        return participations.filter(qualified=True) | completed

    def in_cells(self) -> "ParticipationQuerySet":
        """Return participations with contexts and no upstream step (of the arms: direct)."""
        return self.filter(scenario__arm__in=CELL_ARMS)

    def counted(self, kind: str) -> "ParticipationQuerySet":
        """Return participations in table cells: in the analysis, and of this kind."""
        return self.analysed().in_cells().filter(kind=kind)

    def answers(self, step: str = Step.ANNOTATION) -> models.QuerySet[Answer]:
        """Return these participations' answers in a step, by default those to test examples."""
        return Answer.objects.filter(turn__participation__in=self, turn__step=step)

    def with_last_active(self) -> "ParticipationQuerySet":
        """Annotate `last_active_at`, the time of the last activity (including an open page)."""
        return self.annotate(
            last_active_at=_latest("answer__submitted_at", "activity__last_at", "shown_at")
        )

    def idle(self, now: datetime, study: Study) -> "ParticipationQuerySet":
        """Return the study's live participations that have not made progress for too long."""
        # Only an answer or a new example is progress: merely keeping a page open holds no seat.
        late = Q()
        for status, limit in idle_limits(study).items():
            late |= Q(status=status, last_step_at__lt=now - limit)
        return self.live().with_last_step().filter(late)

    def with_last_step(self) -> "ParticipationQuerySet":
        """Annotate `last_step_at`, the time of the last answer or new example."""
        return self.annotate(last_step_at=_latest("answer__submitted_at", "shown_at"))


def idle_limits(study: Study) -> dict[str, timedelta]:
    """Map statuses to how long a live participation may go without progress.

    The limit is HELD_UNTIL_CONSENT before consent, and the study's idle limit afterwards. For
    workers waiting for a decision, the time starts when the wait ends and their page moves on.
    """
    limit = study.idle_limit
    return {
        Status.WORKING: limit, Status.BETWEEN: limit,
        Status.WAITING: study.decision_limit + limit, Status.ARRIVED: HELD_UNTIL_CONSENT,
    }  # fmt: skip


def _latest(*of_turn: str) -> Greatest:
    """Return the latest of the last turn (its first non-null field), consent and arrival."""
    turns = Turn.objects.filter(participation=models.OuterRef("pk")).order_by("-pk")
    last_step = Coalesce(
        *(models.Subquery(turns.values(name)[:1]) for name in of_turn),
        F("consented_at"),
        F("arrived_at"),
    )
    last_arrival = Coalesce(F("returned_at"), F("arrived_at"))
    return Greatest(last_step, last_arrival)


class Participation(Row):
    """A worker in a scenario, from arrival to payment. Holds a seat while live."""

    # Copied from the scenario for the constraint on live participations per worker and study.
    study = models.ForeignKey(Study, models.PROTECT, related_name="participations", db_index=False)
    scenario = models.ForeignKey(Scenario, on_delete=models.PROTECT, related_name="participations")
    worker = models.ForeignKey(Worker, on_delete=models.PROTECT, related_name="participations")
    kind = models.CharField(max_length=10, choices=Kind)
    token = models.CharField(max_length=40, unique=True, default=new_token)
    pseudonym = models.CharField(max_length=20)
    status = models.CharField(max_length=12, choices=Status, default=Status.ARRIVED)
    seat_number = models.PositiveIntegerField(null=True)
    # Independent of each other, and both changed by decisions (Decision).
    in_analysis = models.BooleanField(default=True)
    is_paid = models.BooleanField(default=True)
    # Drawn at the start of a cross-task study, and empty in the direct arm.
    upstream_order = models.JSONField(default=list)
    anchor_order = models.JSONField(default=list)
    training_order = models.JSONField(default=list)
    screening_order = models.JSONField(default=list)
    annotation_order = models.JSONField(default=list)
    # IDs of the attention checks in the annotation order. They never count towards S1.
    checks = models.JSONField(default=list)
    completion_code = models.CharField(max_length=20)
    arrived_at = models.DateTimeField(default=timezone.now)
    consented_at = models.DateTimeField(null=True)
    consent_text = models.ForeignKey(
        "annotation.ConsentText", null=True, on_delete=models.PROTECT, related_name="+"
    )
    returned_at = models.DateTimeField(null=True, blank=True)  # last return after losing the seat
    finished_at = models.DateTimeField(null=True)
    comprehension_attempts_used = models.PositiveIntegerField(default=0)
    comprehended_at = models.DateTimeField(null=True)
    # Result of the screening rule, or null if it has not been applied.
    qualified = models.BooleanField(null=True)
    waiting_since = models.DateTimeField(null=True)
    decided_at = models.DateTimeField(null=True)
    # Active time until the end. Stored when pay is settled, because answers may be erased later.
    worked_seconds = models.FloatField(null=True)
    # Measures for completed participations, whose answers are final (protocol/activity_summary.py).
    activity_summary = models.JSONField(null=True)
    # Hash of a random first-party cookie. If two IDs share it, a quality flag is raised.
    browser = models.CharField(max_length=64, blank=True)
    # The part of the study for which the worker came, or 0 for the whole study.
    part = models.PositiveSmallIntegerField(default=0)
    # Number of the Allocation through which this seat was assigned.
    arrival = models.PositiveIntegerField()

    objects = ParticipationQuerySet.as_manager()

    class Meta:
        ordering = ["study", "scenario", "pk"]
        # Overviews are counted from these columns alone, without reading the example orders.
        indexes = [
            models.Index(name="state_in_a_study", fields=[
                "study", "status", "kind", "in_analysis", "is_paid", "consented_at", "finished_at",
                "decided_at", "returned_at", "worked_seconds",
            ]),
        ]  # fmt: skip
        constraints = [
            one_of("kind", Kind, "a_participation_is_of_a_known_kind"),
            one_of("status", Status, "a_participation_has_a_known_status"),
            unique("a_seat_is_taken_once", ["scenario", "kind", "seat_number"]),
            unique(
                "a_worker_does_one_task_at_a_time_in_a_study",
                ["worker", "study"],
                condition=Q(status__in=LIVE),
            ),
            unique("a_pseudonym_is_one_participation", ["study", "pseudonym"]),
            unique("an_allocation_is_of_one_participation", ["study", "arrival"]),
            check(
                "live_or_analysed_means_seated",
                Q(
                    Q(status__in=LIVE) | ANALYSED,
                    # NULL > 0 is unknown, which satisfies a check constraint, so both conditions
                    # are needed.
                    seat_number__isnull=False,
                    seat_number__gt=0,
                )
                | Q(~Q(status__in=LIVE) & ~ANALYSED, seat_number__isnull=True),
            ),
        ]

    def __str__(self) -> str:
        return self.pseudonym

    @property
    def is_live(self) -> bool:
        return self.status in LIVE

    def record_decision(
        self, about: str, outcome: bool, reason: str, by: User | None, **fields: bool | None
    ) -> None:
        self.decisions.create(
            about=about, outcome=outcome, reason=reason, by=by, at=database_now(), **fields
        )

    def latest_turn(self) -> "Turn | None":
        turn = Turn.first(LATEST_TURN, self.pk)
        if turn is not None:
            turn.participation = self
            turn.example = frozen.example(turn.example_id)
            turn.prime_empty_relations()
        return turn

    def latest_submission(self) -> "Submission | None":
        """Return the platform's record for this work, or for the worker's first task in the study.

        Workers who go on to another of the study's tasks do not return through the platform first.
        """
        # Anyone can arrive with this worker's ID, so without a participation, it is unconfirmed.
        rows = self.submissions.all() or [
            row
            for row in self.worker.submissions.all()
            if row.study_id == self.study_id and row.participation_id
        ]
        return max(rows, key=lambda row: row.pk, default=None)

    def order_of(self, step: str) -> list[int]:
        return getattr(self, f"{Step(step)}_order", self.annotation_order)

    def shown_card(self, card: Card) -> Card:
        """Return a card as this annotator sees it, with labels in their individual order."""
        if self.scenario.is_plain:
            return card
        card = self.scenario.shown_card(card)
        names = [label.name for label in card.labels]
        order = choice_order(self.scenario.design, self.pseudonym, names)
        return replace(card, labels=tuple(card.labels[index] for index in order)) if order else card

    def shown_example(self, example: Example) -> Example:
        """Return an example as this annotator sees it, with options in their individual order."""
        if self.scenario.is_plain:
            return example
        example = self.scenario.shown_example(example)
        order = choice_order(self.scenario.design, self.pseudonym, example.options)
        if not order:
            return example
        copied = copy.copy(example)
        copied.options = [example.options[index] for index in order]
        return copied

    def show(
        self,
        step: str,
        position: int,
        channel: str,
        previous: "Turn | None" = None,
        left_at: datetime | None = None,
        shown_at: datetime | None = None,
        save: bool = True,
    ) -> "Turn":
        """Show the worker the example at a position of a step and return the new turn.

        `channel` is that of the request. `previous` is the worker's previous turn, on which work
        counts until `left_at`. Both times default to now. If `save` is false, the caller inserts
        the turn. The caller must hold the participation's lock.
        """
        now = shown_at or database_now()
        if previous is not None:  # clocks may be set back, but turns must stay in order
            now = max(now, previous.given.submitted_at if previous.given else previous.shown_at)
        example = frozen.example(self.order_of(step)[position])
        turn = Turn(
            participation=self,
            example=example,
            step=Step.CHECK if example.pk in self.checks else step,
            position=position,
            shown_at=now,
            channel=channel,
            worked_before=(
                previous.worked_before
                + previous.active_until(left_at or now, self.scenario.idle_cutoff)
                if previous
                else self.worked_before_first(now)
            ),
        )
        turn.prime_empty_relations()
        if save:
            turn.save()
        return turn

    def has_seen_an_example(self) -> bool:
        """Return whether any example was shown, even if its turn has since been erased."""
        erased = Tombstone.objects.filter(participation=self, turns_erased__gt=0)
        return self.turns.exists() or erased.exists()

    def worked_before_first(self, moment: datetime) -> timedelta:
        """Return the time from arrival to the instructions, including consent but not absences."""
        dates = [self.arrived_at, self.consented_at, self.comprehended_at, moment]
        marks = [date for date in dates if date is not None]
        gaps = (later - earlier for earlier, later in itertools.pairwise(marks))
        # Servers' clocks differ and may be set back, so make sure that gaps are never negative.
        return sum((min(max(gap, timedelta()), LONGEST_COUNTED_GAP) for gap in gaps), timedelta())


@lru_cache(maxsize=4096)
def first_worked_before(participation: int) -> timedelta:
    """Return the time worked before the first example, which never changes."""
    return Turn.objects.filter(participation=participation).earliest("pk").worked_before


class Tombstone(models.Model):
    """Permits a participation's answers to be erased, while preserving their counts.

    The database rejects the deletion of turns and answers unless this row exists (guards.py).
    """

    participation = models.OneToOneField(Participation, on_delete=models.PROTECT)
    erased_at = models.DateTimeField(default=timezone.now)
    turns_erased = models.PositiveIntegerField()
