"""The ledger: active time, the hourly rate, and the resulting earnings.

Annotators who complete a task earn either the base reward or the hourly rate times their active
time, whichever is larger. Those who stop earlier (screened out, returned, expired, withdrawn) earn
the rate for the time worked, and at least the study's minimum if they were shown an example. Before
that, they do not earn anything, unless they were screened out by the comprehension questions.
Waiting for a decision is paid at the same rate. Except for bonuses, earnings never exceed the
study's cap (`cap`). Amounts are in whole cents, rounded up. Entries are only ever added: `settle`
adds whatever is due and missing.
"""

import statistics
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import ROUND_CEILING, Decimal
from typing import Any

from django.contrib.auth.models import User
from django.db.models import Q, QuerySet, Sum

from annotation.models import (
    LIVE,
    ORDERS,
    AuditEntry,
    Decision,
    LedgerEntry,
    Participation,
    Status,
    Study,
    Submission,
    Topic,
    Turn,
)
from annotation.models import Kind as WorkerKind
from tasks.clock import database_now

Kind = LedgerEntry.Kind

MAX_BONUS = 10_000  # in units of the currency
SAME_BONUS_WITHIN = timedelta(minutes=1)
# Annotation for participations: cents in the ledger, without bonuses.
WITHOUT_BONUSES = Sum("ledger__cents", filter=~Q(ledger__kind=Kind.BONUS), default=0)


def cents(amount: Decimal) -> int:
    """Convert an amount in currency units to cents, rounding up."""
    return int((amount * 100).to_integral_value(rounding=ROUND_CEILING))


def for_time(study: Study, time: timedelta) -> int:
    """Return the pay for this time in cents, up to the study's cap on paid hours."""
    seconds = Decimal(str(time.total_seconds()))
    if study.max_paid_hours is not None:
        seconds = min(seconds, study.max_paid_hours * 3600)
    return cents(study.hourly_rate * seconds / 3600)


def for_completing(study: Study, minutes: int) -> int:
    """Return the earnings in cents for completing a task in this number of minutes."""
    by_time = for_time(study, timedelta(minutes=minutes))
    return max(by_time, cents(study.base_reward), cents(study.minimum_pay))


def cap(study: Study) -> int | None:
    """Return the maximum earnings for one task, excluding bonuses, in cents; None if unlimited.

    They include pay for working and waiting time, top-ups and the base reward.
    """
    if not study.hourly_rate:
        by_time = 0
    elif study.max_paid_hours is None:
        return None
    else:
        by_time = cents(study.hourly_rate * study.max_paid_hours)
    return max(by_time, cents(study.base_reward), cents(study.minimum_pay))


def active_time(participation: Participation) -> timedelta:
    """Return the time worked from arrival to the last activity, as the study counts it.

    Time spent waiting for a decision, and time after the end of a part, are excluded.
    """
    if participation.worked_seconds is not None and not participation.is_live:
        return timedelta(seconds=participation.worked_seconds)
    return active_time_to(participation, participation.latest_turn())


def active_time_to(participation: Participation, last: Turn | None) -> timedelta:
    """Return the active time of an unsettled participation whose latest turn is `last`."""
    if last is None:
        end = participation.finished_at or participation.comprehended_at
        return participation.worked_before_first(
            end or participation.consented_at or participation.arrived_at
        )
    marks = [last.left_at]
    marks += [last.activity.last_at] if getattr(last, "activity", None) else []
    cutoff = timedelta(seconds=participation.study.idle_cutoff_seconds)
    until = _stopped_at(participation, last) or max(marks)
    return last.worked_before + last.active_until(until, cutoff)


def _stopped_at(participation: Participation, last: Turn) -> datetime | None:
    """Return when work on the latest turn ended if no other example followed, or None."""
    if last.given is not None and not last.is_revealed:
        return last.left_at
    since = participation.waiting_since
    return since if since is not None and since >= last.shown_at else None


def waiting_time(participation: Participation) -> timedelta:
    """Return the time waited for a decision, made or not, up to the study's limit."""
    return _waited(participation, participation.study.decision_limit)


def _waited(participation: Any, limit: timedelta) -> timedelta:
    end = participation.decided_at or participation.finished_at
    if participation.waiting_since is None or end is None:
        return timedelta()
    return min(end - participation.waiting_since, limit)


def amount_due(participation: Participation, worked: timedelta, has_begun: bool) -> int:
    """Return the earnings in cents, without waiting or bonuses. `has_begun`: saw an example."""
    study = participation.study
    # Consent can be repeated, so it is not paid as work. Failing the questions can't be repeated.
    if not has_begun and participation.status != Status.SCREENED_OUT:
        return 0
    minimum = cents(study.minimum_pay) if has_begun else 0
    if participation.status == Status.COMPLETED:
        minimum = max(minimum, cents(study.base_reward))
    return max(for_time(study, worked), minimum)


def for_waiting(participation: Participation, other_pay: int) -> int:
    """Return the pay for waiting in cents. All other earnings also count towards the cap."""
    waited = for_time(participation.study, waiting_time(participation))
    limit = cap(participation.study)
    return waited if limit is None else min(waited, max(limit - other_pay, 0))


def settle(participation: Participation) -> list[LedgerEntry]:
    """Add any missing ledger entries that are due for a participation that has ended.

    The caller must hold the participation's lock. This does nothing while it is live. For programs
    and annotators that a researcher decided not to pay, it only stores the time worked.
    """
    study = participation.study
    if participation.is_live:
        return []
    worked = active_time(participation)
    if participation.worked_seconds is None:
        participation.store(worked_seconds=worked.total_seconds())
    if participation.kind != WorkerKind.PERSON or not participation.is_paid:
        return []
    entries = []

    def enter(kind: str, amount: int, reason: str, submission: Submission | None = None) -> None:
        if amount > 0:
            entries.append(_entry(participation, kind, amount, reason, submission=submission))

    entered = dict(participation.ledger.order_by().values_list("kind").annotate(total=Sum("cents")))
    _enter_exits(participation, entered, enter)
    due = amount_due(participation, worked, participation.has_seen_an_example())
    completed = participation.status == Status.COMPLETED
    hours = f"{worked.total_seconds():.0f} s at {study.hourly_rate} {study.currency} per hour"
    credited = sum(n for kind, n in entered.items() if kind not in (Kind.WAITING, Kind.BONUS))
    credited += sum(entry.cents for entry in entries)
    if completed and not participation.submissions.filter(prolific_study__isnull=False).exists():
        base = cents(study.base_reward) - entered.get(Kind.BASE, 0)
        enter(Kind.BASE, min(base, due - credited), "completed")
        credited += max(min(base, due - credited), 0)
    enter(Kind.TOP_UP if completed else Kind.PARTIAL, due - credited, hours)
    waiting = f"{waiting_time(participation).total_seconds():.0f} s of waiting"
    waited = for_waiting(participation, max(due, credited))
    enter(Kind.WAITING, waited - entered.get(Kind.WAITING, 0), waiting)
    return entries


def _entry(
    participation: Participation, kind: str, amount: int, reason: str, **fields: Any
) -> LedgerEntry:
    return participation.ledger.create(
        kind=kind, cents=amount, currency=participation.study.currency, reason=reason,
        at=database_now(), **fields,
    )  # fmt: skip


def _enter_exits(
    participation: Participation, entered: dict[str, int], enter: Callable[..., None]
) -> None:
    paid_already = set(
        participation.ledger.filter(submission__isnull=False).values_list(
            "submission_id", flat=True
        )
    )
    submissions = participation.submissions.filter(prolific_study__isnull=False).exclude(outcome="")
    for submission in submissions.select_related("prolific_study"):
        if submission.pk in paid_already:
            continue
        part = submission.prolific_study
        assert part is not None  # ensured by the filter
        if submission.outcome == "completed" or (
            submission.outcome == "not_qualified" and part.part == 1
        ):
            enter(Kind.BASE, part.reward_cents, f"reward of {part.name}", submission)
        elif submission.outcome == "not_qualified":
            enter(
                Kind.SCREEN_OUT, part.screen_out_cents, f"screened out of {part.name}", submission
            )


def settle_ended(study: Study) -> int:
    """Settle ended participations, even if they may resume. Returns the number of entries."""
    ended = study.participations.filter(kind="person").exclude(status__in=LIVE)
    count = 0
    for pk in ended.values_list("pk", flat=True):
        with Participation.locking(pk) as locked:
            count += len(settle(locked))
    return count


def decide(participation: Participation, is_paid: bool, reason: str, by: User | None) -> None:
    """Decide whether a participation is paid, and log the user and the reason.

    If it isn't paid, no more entries are added, and those that are not in batches are held back.
    This doesn't affect inclusion in the analysis.
    """
    with Participation.locking(participation.pk) as locked:
        if locked.is_paid == is_paid:
            return
        locked.store(is_paid=is_paid)
        locked.record_decision(Decision.About.PAY, is_paid, reason, by)
        AuditEntry.objects.record(
            "decided to pay" if is_paid else "decided not to pay",
            Topic.PAY, study=locked.study, about=locked.pseudonym, by=by,
            before={"is_paid": not is_paid}, after={"is_paid": is_paid},
        )  # fmt: skip
        settle(locked)


def add_bonus(participation: Participation, amount: int, reason: str, by: User) -> LedgerEntry:
    """Add a bonus in cents. budget.give_bonus also checks the study's budget.

    Raises ValueError for simulated annotators, and if the same bonus is added twice.
    """
    if participation.kind != WorkerKind.PERSON:
        raise ValueError("Only human annotators are paid; this annotator is a program.")
    # If the button was clicked twice, the second request finds the entry added by the first.
    with Participation.locking(participation.pk):
        lately = database_now() - SAME_BONUS_WITHIN
        earlier = participation.ledger.filter(kind=Kind.BONUS, cents=amount, reason=reason, by=by)
        if earlier.filter(at__gte=lately).exists():
            raise ValueError(
                "This bonus has just been entered. To pay it twice, enter a different reason."
            )
        return _entry(participation, Kind.BONUS, amount, reason, by=by)


@dataclass(frozen=True)
class Wage:
    """Earnings and times of a participation. Amounts are in cents, wages in cents per hour."""

    participation: Participation
    active_seconds: float
    elapsed_seconds: float | None
    earned: int
    paid: int

    @property
    def worked(self) -> timedelta:
        return timedelta(seconds=self.active_seconds)

    @property
    def per_active_hour(self) -> float | None:
        return self.earned * 3600 / self.active_seconds if self.active_seconds else None

    @property
    def per_elapsed_hour(self) -> float | None:
        return self.earned * 3600 / self.elapsed_seconds if self.elapsed_seconds else None


def wages(participations: Iterable[Participation]) -> list[Wage]:
    return [
        Wage(
            participation=person,
            active_seconds=(person.worked_seconds or 0.0) + waiting_time(person).total_seconds(),
            elapsed_seconds=elapsed_seconds(person),
            earned=person.earned,  # type: ignore[attr-defined]  # annotated
            paid=person.paid,  # type: ignore[attr-defined]  # annotated
        )
        for person in participations
    ]


def elapsed_seconds(participation: Participation) -> float | None:
    """Return the time from arrival to the end, or None for seats that were given up."""
    end = participation.finished_at
    return max((end - participation.arrived_at).total_seconds(), 0.0) if end else None


def settled(study: Study) -> "QuerySet[Participation]":
    """Return a study's settled human participations, with the related rows that `wages` uses."""
    people = study.participations.filter(kind="person", worked_seconds__isnull=False)
    paid = Sum("ledger__cents", filter=Q(ledger__payment__batch__state="paid"), default=0)
    people = people.annotate(earned=Sum("ledger__cents", default=0), paid=paid)
    # Prefetch, so that each scenario and its task are read once and not once per person.
    return people.defer(*ORDERS, "activity_summary").prefetch_related("scenario__task")


def median_wage_of(study: Study) -> float | None:
    """Return the median wage of settled annotators per active hour in cents, or None without work.

    This does not load models.
    """
    times = "worked_seconds", "waiting_since", "decided_at", "finished_at"
    people = study.participations.filter(kind="person", worked_seconds__isnull=False).order_by()
    earned = people.values("pk", *times).annotate(earned=Sum("ledger__cents", default=0))
    rows: Iterable[Any] = earned.values_list(*times, "earned", named=True)
    limit = study.decision_limit
    hours = ((row.earned, row.worked_seconds + _waited(row, limit).total_seconds()) for row in rows)
    wages = [earned * 3600 / seconds for earned, seconds in hours if seconds]
    return statistics.median(wages) if wages else None


def amount(cents: float | None) -> Decimal | None:
    return None if cents is None else Decimal(int(cents)).scaleb(-2)


def in_currency(amount: int) -> str:
    """Format cents in units of the currency: 1234 becomes "12.34"."""
    return f"{amount // 100}.{amount % 100:02d}"
