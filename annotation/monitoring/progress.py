"""How far a study is: seats, the way from arrival to analysis, who works now, time and money.

Everything is counted in the database, in a number of queries that depends neither on how many
people take part nor on how many answers there are; no answer is loaded.
"""

import hashlib
import statistics
from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, fields
from datetime import datetime, timedelta
from typing import ClassVar

from django.db.models import (
    Avg,
    Case,
    Count,
    Exists,
    F,
    Max,
    OuterRef,
    Q,
    QuerySet,
    Subquery,
    Sum,
    Value,
    When,
)
from django.db.models.functions import Coalesce

from annotation.models import (
    ANALYSED,
    AT_WORK_WITHIN,
    LIVE,
    Decision,
    Kind,
    LedgerEntry,
    Participation,
    ParticipationQuerySet,
    PaymentBatch,
    Qualification,
    Scenario,
    Status,
    Step,
    Study,
    StudyStatus,
    Turn,
)
from annotation.money import ledger
from annotation.monitoring import flags
from annotation.monitoring.columns import FACTS, FUNNEL, SEATS
from annotation.wording import in_words
from tasks.clock import database_now
from tasks.models import Example, Split

ROBOTS = Kind.SIMULATED
SHOWN_AT_WORK = 20
PER_PAGE = 50


@dataclass(frozen=True)
class Funnel:
    """How many came how far, of one kind, in one scenario or in all.

    `arrived` = `declined` + `at_work` + `completed` + `screened_out` + `returned` + `expired` +
    `refused` + `withdrawn` + `rejected`.
    """

    arrived: int = 0
    declined: int = 0
    consented: int = 0
    trained: int = 0
    qualified: int = 0
    completed: int = 0
    analysed: int = 0
    at_work: int = 0
    screened_out: int = 0
    returned: int = 0
    expired: int = 0
    refused: int = 0
    withdrawn: int = 0
    rejected: int = 0

    @property
    def cells(self) -> list[str]:
        """As text, in the order of FUNNEL."""
        return [column.text(self) for column in FUNNEL]

    def __add__(self, other: "Funnel") -> "Funnel":
        names = [field.name for field in fields(self)]
        return Funnel(**{name: getattr(self, name) + getattr(other, name) for name in names})


@dataclass(frozen=True)
class Seats:
    """The seats of one scenario: those of people by state, those of robots together.

    `open_seats` are still to be completed (free or at work) as long as the study gives out seats;
    each takes `seconds_each`, the median over `median_of` people, or the study's estimate (0).
    """

    scenario: Scenario
    seats: int
    completed: int
    working: int
    free: int
    simulated: int
    open_seats: int
    seconds_each: float
    median_of: int
    funnel: Funnel

    @property
    def cells(self) -> list[str]:
        """As text, in the order of SEATS."""
        return [column.text(self) for column in SEATS]

    @property
    def first_step(self) -> str:
        """Where a preview begins."""
        return Step.TRAINING if self.scenario.shots else Step.ANNOTATION

    @property
    def seconds_left(self) -> float:
        return self.open_seats * self.seconds_each

    @property
    def time_left(self) -> str:
        """5 x 12 min (median of 3)."""
        if not self.open_seats:
            return "none"
        source = f"median of {self.median_of}" if self.median_of else "the study's estimate"
        return f"{self.open_seats} × {in_words(timedelta(seconds=self.seconds_each))} ({source})"


@dataclass(frozen=True)
class AtWork:
    """A person who gave a sign of work lately (at_work of the QuerySet), and where they are."""

    pseudonym: str
    scenario: str
    where: str
    last_active_at: datetime


@dataclass(frozen=True)
class Money:
    """Amounts in cents, of people: `due` is earned, not yet paid and not held back.

    `promised` is what the seats that are still open will cost at least.
    """

    earned: int
    paid: int
    held_back: int
    promised: int
    currency: str

    @property
    def due(self) -> int:
        return self.earned - self.paid - self.held_back

    @property
    def in_words(self) -> dict[str, str]:
        amounts = {
            "earned": self.earned,
            "paid": self.paid,
            "held_back": self.held_back,
            "due": self.due,
            "promised": self.promised,
            "committed": self.due + self.promised,
        }
        return {
            name: f"{ledger.in_currency(amount)} {self.currency}"
            for name, amount in amounts.items()
        }


@dataclass(frozen=True)
class Waiting:
    """Somebody who waits for a researcher's decision after the training step."""

    pseudonym: str
    scenario: str
    since: datetime


@dataclass(frozen=True)
class Progress:
    """The progress of a study, which its page refreshes every few seconds."""

    status: str
    seats: list[Seats]
    simulated: Funnel
    at_work: list[AtWork]
    at_work_count: int
    waiting: list[Waiting]
    money: Money
    flagged: flags.Flagged

    facts: ClassVar = FACTS
    seat_columns: ClassVar = SEATS
    funnel_columns: ClassVar = FUNNEL

    @property
    def people(self) -> Funnel:
        return sum((one.funnel for one in self.seats), Funnel())

    @property
    def completed(self) -> int:
        return sum(one.completed for one in self.seats)

    @property
    def all_seats(self) -> int:
        return sum(one.seats for one in self.seats)

    @property
    def time_left(self) -> str:
        return in_words(timedelta(seconds=sum(one.seconds_left for one in self.seats)))

    @property
    def more_at_work(self) -> int:
        return self.at_work_count - len(self.at_work)

    @property
    def is_moving(self) -> bool:
        """Can anything here still change by what annotators do?"""
        live = self.people.at_work + self.simulated.at_work
        return self.status in (StudyStatus.OPEN, StudyStatus.PAUSED) or live > 0

    @property
    def version(self) -> str:
        """Differs exactly when something else would be shown."""
        return hashlib.sha256(repr(self).encode()).hexdigest()[:16]


@dataclass(frozen=True)
class Summary:
    """One study among others: seats of people, who works now, and money in cents."""

    study: Study
    seats: int
    completed: int
    at_work_count: int
    waiting: int
    due: int
    last_active_at: datetime | None

    @property
    def due_in_words(self) -> str:
        return f"{ledger.in_currency(self.due)} {self.study.currency}"


def for_studies(studies: QuerySet[Study]) -> list[Summary]:
    """The overview, in four queries."""
    studies = studies.defer("consent_text", "comprehension_questions")
    seats = dict(
        Scenario.objects.filter(study__in=studies.values("pk"))
        .order_by()
        .values_list("study")
        .annotate(seats=Sum("seats"))
    )
    everybody = Participation.objects.filter(study__in=studies.values("pk"))
    recent = database_now() - AT_WORK_WITHIN
    counts = {
        row["study"]: row
        for row in everybody.with_last_active()
        .order_by()
        .values("study")
        .annotate(
            completed=Count("pk", filter=ANALYSED & Q(kind=Kind.PERSON)),
            now=Count(
                "pk",
                filter=Q(
                    kind=Kind.PERSON,
                    status__in=LIVE,
                    last_active_at__gte=recent,
                ),
            ),
            waiting=Count("pk", filter=Q(status=Status.WAITING)),
            last=Max("last_active_at"),
        )
    }
    nobody = {"completed": 0, "now": 0, "waiting": 0, "last": None}
    money = {
        row["participation__study"]: row["earned"] - row["paid"] - row["held_back"]
        for row in _of_people(
            LedgerEntry.objects.filter(participation__study__in=studies.values("pk"))
        )
        .order_by()
        .values("participation__study")
        .annotate(**_sums())
    }
    return [
        Summary(
            study=study,
            seats=seats.get(study.pk, 0),
            completed=counts.get(study.pk, nobody)["completed"],
            at_work_count=counts.get(study.pk, nobody)["now"],
            waiting=counts.get(study.pk, nobody)["waiting"],
            due=money.get(study.pk, 0),
            last_active_at=counts.get(study.pk, nobody)["last"],
        )
        for study in studies
    ]


def for_study(study: Study) -> Progress:
    """Everything at once, in ten queries."""
    scenarios = list(_with_training_size(study))
    funnels = _funnels(study, scenarios)
    times = _times_of_completed(study)
    left = _left(study)
    rows = [
        _seats(
            study,
            one,
            times[one.pk],
            funnels[one.pk, Kind.PERSON],
            funnels[one.pk, ROBOTS],
            left[one.pk],
        )
        for one in scenarios
    ]
    active = study.participations.at_work(database_now()).filter(kind=Kind.PERSON)
    return Progress(
        status=study.status,
        seats=rows,
        simulated=sum((funnels[one.pk, ROBOTS] for one in scenarios), Funnel()),
        at_work=[_at_work(one) for one in _with_place(active)],
        at_work_count=active.count(),
        waiting=[
            Waiting(one.pseudonym, str(one.scenario), one.waiting_since)
            for one in study.participations.filter(status=Status.WAITING)
            .select_related("scenario__task")
            .only("pseudonym", "waiting_since", "scenario__shots", "scenario__task__name")
            .order_by("waiting_since")
        ],
        money=money(study, sum(one.open_seats for one in rows)),
        flagged=flags.for_completed(study),
    )


def _with_training_size(study: Study) -> QuerySet[Scenario]:
    """The scenarios, each with the number of examples of its training step (of NER: questions)."""
    sizes = Split.objects.filter(
        task=OuterRef("task"),
        kind=Split.Kind.TRAIN,
        shots=OuterRef("shots"),
        number=OuterRef("split_number"),
    ).annotate(size=Count("examples"))
    size = Coalesce(Subquery(sizes.values("size")[:1]), 0)
    scenarios = study.scenarios.select_related("task").defer("task__card_data")
    return scenarios.annotate(training_size=size)


def _funnels(study: Study, scenarios: list[Scenario]) -> dict[tuple[int, str], Funnel]:
    """(key of a scenario, kind) -> how many came how far."""
    turns = Turn.objects.filter(participation=OuterRef("pk"))
    last = turns.filter(
        step=Step.TRAINING, position=OuterRef("training_size") - 1, answer__isnull=False
    )
    first = turns.filter(step=Step.ANNOTATION, position=0)
    # Who withdrew has no turns any more and is not called qualified, but their tombstone says how
    # many there were, and a decision that there was one.
    decided = Decision.objects.filter(
        participation=OuterRef("pk"), about=Decision.About.QUALIFICATION
    )
    trained = (
        Q(Exists(last))
        | Q(Exists(first))
        | Q(tombstone__turns_erased__gt=F("training_size"))
        | Q(Exists(decided), tombstone__turns_erased__gt=0)
    )
    passed = Q(Exists(decided.filter(outcome=True)), status=Status.WITHDRAWN)
    judged = Q(qualified=True) | passed | Q(scenario__shots=0)
    if study.qualification == Qualification.NONE:
        judged = Q()
    sizes = [When(scenario=one.pk, then=Value(one.training_size)) for one in scenarios]
    rows = (
        study.participations.order_by()
        .alias(training_size=Case(*sizes, default=Value(0)))
        .values("scenario", "kind")
        .annotate(
            came=Count("pk"),
            consented=Count("pk", filter=Q(consented_at__isnull=False)),
            trained=Count("pk", filter=trained),
            passed=Count("pk", filter=trained & judged),
            analysed=Count("pk", filter=ANALYSED),
            at_work=Count("pk", filter=Q(status__in=LIVE)),
            **{f"n_{one}": Count("pk", filter=Q(status=one)) for one in Status.values},
        )
    )
    found = defaultdict(
        Funnel,
        {
            (row["scenario"], row["kind"]): Funnel(
                arrived=row["came"],
                consented=row["consented"],
                trained=row["trained"],
                qualified=row["passed"],
                completed=row["n_completed"],
                analysed=row["analysed"],
                at_work=row["at_work"],
                screened_out=row["n_screened_out"],
                returned=row["n_returned"],
                expired=row["n_expired"],
                refused=row["n_refused"],
                withdrawn=row["n_withdrawn"],
                rejected=row["n_rejected"],
            )
            for row in rows
        },
    )
    for one in scenarios:
        found[one.pk, Kind.PERSON] += Funnel(arrived=one.declined, declined=one.declined)
    return found


def _times_of_completed(study: Study) -> dict[int, list[float]]:
    """Scenario -> active seconds of each person who completed it."""
    found: dict[int, list[float]] = defaultdict(list)
    done = study.participations.filter(
        kind=Kind.PERSON, status=Status.COMPLETED, worked_seconds__isnull=False
    )
    for scenario, seconds in done.order_by().values_list("scenario", "worked_seconds"):
        found[scenario].append(seconds)
    return found


def _left(study: Study) -> Counter[int]:
    """Scenario -> people who are idle for longer than they may be: their seats are free."""
    idle = study.participations.filter(kind=Kind.PERSON).idle(database_now(), study)
    return Counter(idle.order_by().values_list("scenario", flat=True))


def _seats(
    study: Study,
    scenario: Scenario,
    times: list[float],
    people: Funnel,
    robots: Funnel,
    left: int,
) -> Seats:
    # Who is live or analysed has a seat number, and nobody else does: the database says so.
    completed, working = people.analysed, people.at_work - left
    free = scenario.seats - completed - working
    return Seats(
        scenario=scenario,
        seats=scenario.seats,
        completed=completed,
        working=working,
        free=free,
        simulated=robots.analysed + robots.at_work,
        # A closed study gives out no seat again, but people at work may finish.
        open_seats=working + (0 if study.status == StudyStatus.CLOSED else free),
        seconds_each=statistics.median(times) if times else 60 * study.estimated_minutes,
        median_of=len(times),
        funnel=people,
    )


def _with_place(active: ParticipationQuerySet) -> Iterable[Participation]:
    """The latest of them, each with the step and position of their latest turn."""
    latest = Turn.objects.filter(participation=OuterRef("pk")).order_by("-pk")
    return (
        active.select_related("scenario__task")
        .defer("checks", "scenario__task__card_data")
        .annotate(
            step=Subquery(latest.values("step")[:1]),
            position=Subquery(latest.values("position")[:1]),
        )
        .order_by("-last_active_at", "-pk")[:SHOWN_AT_WORK]
    )


def _at_work(one: Participation) -> AtWork:
    if one.step is None:
        where = "consent" if one.status == Status.ARRIVED else "instructions"
    elif one.status in (Status.WAITING, Status.BETWEEN):
        where = one.get_status_display()
    else:
        step = Step.TRAINING if one.step == Step.TRAINING else Step.ANNOTATION
        where = f"{step.label}, {one.position + 1} of {len(one.order_of(step))}"
    return AtWork(one.pseudonym, str(one.scenario), where, one.last_active_at)


def money(study: Study, open_seats: int) -> Money:
    """Earned and paid by the ledger, and what that many open seats will cost."""
    estimate = timedelta(minutes=study.estimated_minutes)
    each = max(ledger.cents(study.base_reward), ledger.for_time(study, estimate))
    sums = _of_people(LedgerEntry.objects.filter(participation__study=study)).aggregate(**_sums())
    return Money(**sums, promised=open_seats * each, currency=study.currency)


def _of_people(entries: QuerySet[LedgerEntry]) -> QuerySet[LedgerEntry]:
    return entries.filter(participation__kind=Kind.PERSON)


def _sums() -> dict[str, Sum]:
    """Cents of the ledger's entries by payment status."""
    held = Q(participation__is_paid=False, payment__isnull=True)
    paid = Q(payment__batch__state=PaymentBatch.State.PAID)
    return {
        "earned": Sum("cents", default=0),
        "paid": Sum("cents", filter=paid, default=0),
        "held_back": Sum("cents", filter=held, default=0),
    }


def participation_rows(study: Study, page: list[Participation]) -> list[dict]:
    """How far each of these participations of the study is, in two queries."""
    sizes = dict(
        Example.objects.filter(split__kind=Split.Kind.TEST, split__task__studies=study)
        .order_by()
        .values_list("split__task")
        .annotate(size=Count("pk"))
    )
    steps: dict[int, dict[str, dict]] = defaultdict(dict)
    for row in (
        Turn.objects.filter(participation__in=[one.pk for one in page])
        .order_by()
        .values("participation", "step")
        .annotate(n=Count("answer"), s1=Avg("answer__s1"), shown_at=Max("shown_at"))
    ):
        steps[row["participation"]][row["step"]] = row
    rows = []
    for one in page:
        done = steps[one.pk]
        annotated = done.get(Step.ANNOTATION, {"n": 0, "s1": None})
        rows.append(
            {
                "participation": one,
                "trained": done.get(Step.TRAINING, {"n": 0})["n"],
                "annotated": annotated["n"],
                "mean_s1": None if annotated["s1"] is None else 100 * annotated["s1"],
                "total": sizes.get(one.scenario.task_id, 0),
                "last_active_at": max(
                    (row["shown_at"] for row in done.values()), default=one.arrived_at
                ),
            }
        )
    return rows
