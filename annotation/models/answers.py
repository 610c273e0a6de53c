"""Turns and answers, which database triggers make insert-only (annotation/guards.py)."""

import itertools
import random
from dataclasses import replace
from datetime import datetime, timedelta
from functools import cached_property
from operator import attrgetter

from django.db import connection, connections, models
from django.db.models import F, Q
from django.db.models.functions import Length
from django.db.models.lookups import LessThanOrEqual
from django.utils import timezone

from annotation.models.scenario import RATED, REVEALED, Step
from tasks import frozen
from tasks.cards import Card
from tasks.clock import database_now
from tasks.models import Example
from tasks.models.choices import Row, check, one_of, unique
from tasks.spans import QUESTION, Span
from tasks.spans import GivenAnswer as GivenAnswer

# A gap between a worker's steps counts as work up to this length, and then as absence.
LONGEST_COUNTED_GAP = timedelta(minutes=5)
LONGEST_REASON = 200  # characters, for example of a problem report


class Channel(models.TextChoices):
    PAGE = "page", "a page"
    API = "api", "the API"


class TurnQuerySet(models.QuerySet["Turn"]):
    def latest_of(self, participations: models.QuerySet) -> "TurnQuerySet":
        turns = self.filter(participation=models.OuterRef("pk")).order_by("-pk")
        latest = participations.order_by().values(latest=models.Subquery(turns.values("pk")[:1]))
        return self.filter(pk__in=latest).select_related("answer", "activity", "confidence")


class Turn(Row):
    """An example shown to a participant, stored when it is first displayed. Insert-only."""

    participation = models.ForeignKey(
        "annotation.Participation", on_delete=models.PROTECT, related_name="turns", db_index=False
    )
    example = models.ForeignKey(Example, on_delete=models.PROTECT, related_name="turns")
    step = models.CharField(max_length=10, choices=Step)
    position = models.PositiveIntegerField()
    shown_at = models.DateTimeField(default=timezone.now)
    # Time worked before this example was shown, excluding absences (LONGEST_COUNTED_GAP).
    worked_before = models.DurationField(default=timedelta)
    # Channel of the request that led to this turn; after a decision, that of the previous turn.
    channel = models.CharField(max_length=4, choices=Channel)

    objects = TurnQuerySet.as_manager()

    class Meta:
        ordering = ["pk"]
        constraints = [
            one_of("step", Step, "a_turn_belongs_to_a_known_step"),
            one_of("channel", Channel, "a_turn_has_a_known_channel"),
            unique("one_turn_per_participation_and_example", ["participation", "example"]),
            unique("one_turn_per_position_of_a_step", ["participation", "step", "position"]),
        ]
        # Used to find the latest turn of a participation, as every page does.
        indexes = [models.Index(fields=["participation", "-id"], name="latest_turn")]

    @property
    def given(self) -> "Answer | None":
        return getattr(self, "answer", None)

    @property
    def is_revealed(self) -> bool:
        return self.step in REVEALED

    @property
    def shown_step(self) -> str:
        """Return the step as shown to annotators: upstream is training, checks are unmarked."""
        if self.is_revealed:
            return Step.TRAINING
        return Step.ANNOTATION if self.step == Step.CHECK else self.step

    @property
    def card(self) -> Card:
        """Return the card of the example's task, which differs in the upstream step."""
        if self.step == Step.UPSTREAM:
            card = frozen.card_of_example(self.example_id)
        else:
            card = self.participation.scenario.task.card
        if self.step == Step.CHECK and self.participation.scenario.design.refuse_copies:
            card = replace(card, question=None)  # a check's own question says what to answer
        return self.participation.shown_card(card)

    @property
    def shown_example(self) -> Example:
        return self.participation.shown_example(self.example)

    @property
    def asks_confidence(self) -> bool:
        """Return whether to ask how confident the annotator is in the answer to this example.

        The positions are drawn for each participation and step, using the study's seed.
        """
        design = self.participation.scenario.design
        if not design.confidence_share or self.step not in RATED:
            return False
        length = len(self.participation.order_of(self.step))
        seed = f"{design.seed}:{self.participation.pseudonym}:{self.shown_step}:confidence"
        places = random.Random(seed).sample(range(length), round(design.confidence_share * length))
        return self.position in places

    @property
    def awaits_confidence(self) -> bool:
        """Return whether the answer is stored but the confidence question is still unanswered."""
        is_answered = self.given is not None and self.asks_confidence
        return is_answered and not hasattr(self, "confidence")

    @property
    def left_at(self) -> datetime:
        """Return the time of the last step on this example, not counting the reveal."""
        if rated := getattr(self, "confidence", None):
            return rated.given_at
        return self.given.submitted_at if self.given else self.shown_at

    def prime_empty_relations(self) -> None:
        """Cache which of the turn's relations are empty, to save queries.

        For a new turn, all are. For existing turns, Participation.latest_turn has set `has_…`.
        """
        for name in ("answer", "activity", "draft", "confidence"):
            if not vars(self).get(f"has_{name}"):
                self._meta.get_field(name).set_cached_value(self, None)  # type: ignore[union-attr]  # a reverse one-to-one has it

    def active_until(self, moment: datetime, cutoff: timedelta) -> timedelta:
        """Return the active time on this example until `moment` (docs/statistics.md#active-time).

        This is the sum of the gaps between the display, activity signals, the answer and `moment`.
        If the page sends no signals (because JavaScript is disabled), each gap counts for up to
        LONGEST_COUNTED_GAP.
        """
        activity = getattr(self, "activity", None)
        if activity is None:
            cutoff = max(cutoff, LONGEST_COUNTED_GAP)
            seconds, last = timedelta(), self.shown_at
        else:
            seconds, last = timedelta(seconds=activity.seconds), activity.last_at
        marks = [last, moment]
        if (given := self.given) and last < given.submitted_at:
            marks.insert(1, given.submitted_at)
        gaps = (later - earlier for earlier, later in itertools.pairwise(marks))
        return sum((min(max(gap, timedelta()), cutoff) for gap in gaps), seconds)


class Activity(models.Model):
    """The activity signals for one example, summed as they arrive. Mutable, like a draft.

    `seconds` is the active time until `last_at`. Neither text nor keystrokes are stored. Counts are
    as reported by the browser and not verified (docs/statistics.md#reports-of-the-browser).
    """

    turn = models.OneToOneField(Turn, on_delete=models.CASCADE, primary_key=True)
    seconds = models.FloatField(default=0.0)
    last_at = models.DateTimeField()
    blurs = models.PositiveIntegerField(default=0)
    away_seconds = models.FloatField(default=0.0)
    pastes = models.PositiveIntegerField(default=0)
    copies = models.PositiveIntegerField(default=0)
    left_after_copy = models.PositiveIntegerField(default=0)
    # 1 if the answer was sent by a program, without any press or key, or in a narrow window.
    automated = models.PositiveSmallIntegerField(default=0)
    no_input = models.PositiveSmallIntegerField(default=0)
    narrow = models.PositiveSmallIntegerField(default=0)
    jumps = models.PositiveIntegerField(default=0)

    class Meta:
        constraints = [
            check(
                "signs_of_a_submission_are_0_or_1",
                Q(automated__lte=1, no_input__lte=1, narrow__lte=1),
            )
        ]


class Reading(models.Model):
    """The time spent reading a turn's reveal, from the answer until Continue. Insert-only.

    It has its own row because turns and answers are never updated. Active time is counted in the
    same way as for an answer (Turn.active_until).
    """

    turn = models.OneToOneField(Turn, on_delete=models.CASCADE, primary_key=True)
    seconds = models.FloatField()
    continued_at = models.DateTimeField()

    class Meta:
        constraints = [check("a_reveal_is_not_left_before_it_is_shown", Q(seconds__gte=0.0))]


class Confidence(models.Model):
    """How confident an annotator is in a stored answer, and why. Insert-only.

    `value` is 1 to 5 (0, 25, 50, 75, 100%), or null if the question was skipped.
    """

    turn = models.OneToOneField(Turn, on_delete=models.CASCADE, primary_key=True)
    value = models.SmallIntegerField(null=True)
    reason = models.CharField(max_length=LONGEST_REASON, blank=True)
    # Active time between the answer and this row.
    seconds = models.FloatField()
    given_at = models.DateTimeField()
    channel = models.CharField(max_length=4, choices=Channel)

    class Meta:
        constraints = [
            one_of("channel", Channel, "a_confidence_has_a_known_channel"),
            check(
                "confidence_is_1_to_5_or_skipped",
                Q(value__isnull=True, reason="")
                | Q(value__isnull=False, value__gte=1, value__lte=5),
            ),
            check(
                "a_reason_has_at_most_200_characters",
                LessThanOrEqual(Length("reason"), LONGEST_REASON),
            ),
            check("confidence_comes_after_the_answer", Q(seconds__gte=0.0)),
        ]


class ProblemReport(models.Model):
    """A problem with an example, described by an annotator in one line. Insert-only."""

    turn = models.OneToOneField(
        Turn, on_delete=models.CASCADE, primary_key=True, related_name="problem"
    )
    text = models.CharField(max_length=LONGEST_REASON)
    reported_at = models.DateTimeField()

    class Meta:
        constraints = [
            check("a_reported_problem_has_words", ~Q(text="")),
            check(
                "a_reported_problem_has_at_most_200_characters",
                LessThanOrEqual(Length("text"), LONGEST_REASON),
            ),
        ]


class Draft(models.Model):
    """An answer saved by the page before it is submitted. The last write wins.

    Drafts are mutable. They are deleted along with their turn, or as soon as it is answered, and
    are never exported.
    """

    turn = models.OneToOneField(Turn, on_delete=models.CASCADE, primary_key=True)
    content = models.TextField()  # ASCII JSON
    saved_at = models.DateTimeField()

    @property
    def age(self) -> float:
        """Return how many seconds ago the draft was saved."""
        return max(0.0, round((database_now() - self.saved_at).total_seconds(), 3))


class Answer(models.Model):
    """The answer to a turn: spans, a label, values, or an explicit "no answer". Insert-only.

    `values` contains the chosen options, a number or typed text (GivenAnswer), or null. S1 is
    stored with the answer and remains valid, because neither the answer nor the gold answer can
    change (docs/protocol.md#scoring).
    """

    turn = models.OneToOneField(Turn, on_delete=models.PROTECT, primary_key=True)
    no_answer = models.BooleanField()
    label = models.CharField(max_length=100, blank=True)
    values = models.JSONField(null=True)
    s1 = models.FloatField()
    tokeniser = models.CharField(max_length=10)
    # Active time from display to submission, as defined by the study (Turn.active_until).
    active_seconds = models.FloatField()
    submitted_at = models.DateTimeField(default=timezone.now)
    # Channel through which the answer was submitted.
    channel = models.CharField(max_length=4, choices=Channel)

    class Meta:
        constraints = [
            one_of("channel", Channel, "an_answer_has_a_known_channel"),
            check("s1_lies_between_0_and_1", Q(s1__gte=0.0, s1__lte=1.0)),
            check("no_answer_means_no_label", Q(no_answer=False) | Q(label="")),
            check(
                "an_answer_has_a_label_or_values_or_neither",
                Q(values__isnull=True) | Q(no_answer=False, label=""),
            ),
        ]

    @cached_property
    def as_given(self) -> GivenAnswer:
        spans = tuple(
            Span(span.segment, span.start, span.end, span.text) for span in self.spans.all()
        )
        return GivenAnswer(spans, self.label, self.no_answer, tuple(self.values or ()))


class AnswerSpan(models.Model):
    """A highlighted span of an answer, in code points within its segment. Insert-only."""

    answer = models.ForeignKey(Answer, on_delete=models.PROTECT, related_name="spans")
    segment = models.SmallIntegerField()
    start = models.PositiveIntegerField()
    end = models.PositiveIntegerField()
    text = models.TextField()

    class Meta:
        ordering = ["answer", "segment", "start"]
        constraints = [
            unique("spans_of_an_answer_start_apart", ["answer", "segment", "start"]),
            check("a_span_starts_before_it_ends", Q(start__lt=F("end"))),
            check("a_span_stands_in_a_segment_or_the_question", Q(segment__gte=QUESTION)),
        ]


def insert_together(rows: list[models.Model]) -> None:
    """Insert new rows in this order; on PostgreSQL, in a single message to save time.

    The database assigns a primary key only to the last row. All other rows either already have a
    key or do not need one.
    """
    groups = [(meta, list(group)) for meta, group in itertools.groupby(rows, attrgetter("_meta"))]
    if connection.vendor == "sqlite":
        for meta, group in groups:
            meta.default_manager.bulk_create(group)
    else:
        statements, values, database = [], [], connections[connection.alias]  # without the proxy
        for meta, group in groups:
            fields = [f for f in meta.concrete_fields if f.get_internal_type() != "BigAutoField"]
            columns = ", ".join(f'"{field.column}"' for field in fields)
            marks = ", ".join([f"({', '.join(['%s'] * len(fields))})"] * len(group))
            statements.append(f"INSERT INTO {meta.db_table} ({columns}) VALUES {marks}")
            for row in group:
                values += [f.get_db_prep_save(getattr(row, f.attname), database) for f in fields]
                row._state.adding = False
        with connection.cursor() as cursor:
            cursor.execute(f'{"; ".join(statements)} RETURNING "{meta.pk.column}"', values)
            rows[-1].pk = cursor.fetchall()[-1][0]
