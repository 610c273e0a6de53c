"""A study's budget: its balance, who may spend it, and automatic pauses.

A seat is assigned only if the budget covers the earnings so far, what annotators at work can still
earn (each up to the cap), and the new annotator's cap. The study's lock prevents overspending.
Annotators who already have a seat may finish and are paid. Platform fees are extra.
"""

from collections.abc import Iterable
from datetime import datetime
from functools import partial

from django.conf import settings
from django.contrib.auth.models import User
from django.core.exceptions import PermissionDenied
from django.db import transaction
from django.db.models import Count, Exists, Max, OuterRef, Q, Subquery, Sum

from annotation.models import (
    LIVE,
    Answer,
    AuditEntry,
    Decision,
    Kind,
    LedgerEntry,
    Participation,
    Qualification,
    Study,
    StudyStatus,
    Topic,
    Turn,
)
from annotation.models.participation import ORDERS, ParticipationQuerySet
from annotation.pay import ledger
from tasks.clock import database_now

PERMISSION = "annotation.spend"
# Audit log entries for opening a study (lifecycle.TRANSITIONS), and the start of the entries for
# automatic pauses.
OPENINGS = ("opened", "reopened")
PAUSED = "Paused automatically: "
BUDGET_REACHED = "the budget is reached"


class BudgetError(ValueError):
    """The amount cannot be spent. The message is shown to users."""


# Who may spend --------------------------------------------------------------------------------


def check_may_spend(user: User | None) -> None:
    """Raise PermissionDenied if the user may not spend. None means the command line."""
    if user is not None and not user.has_perm(PERMISSION):
        raise PermissionDenied(
            "Your account may not spend money. An administrator of this server can grant it the"
            " permission “May spend”."
        )


def check_limit(study: Study, user: User | None) -> None:
    """Raise PermissionDenied if the study's budget is above this user's limit."""
    limit = settings.STUDY_BUDGET_LIMIT
    above = study.budget is not None and study.budget > limit
    if above and user is not None and not user.has_perm(PERMISSION):
        raise PermissionDenied(
            f"The budget, {study.budget} {study.currency}, is above {limit} {study.currency}, the"
            " limit for a study. Ask a user with the permission “May spend” to open the study or"
            " raise its budget."
        )


# How much is left -----------------------------------------------------------------------------


def _people(study: Study) -> ParticipationQuerySet:
    return study.participations.filter(kind=Kind.PERSON)


def _idle(study: Study, now: datetime | None) -> list[int]:
    """Return idle participations, which reserve no pay: the next arrival frees their seats."""
    idle = study.participations.idle(now or database_now(), study)
    return list(idle.values_list("pk", flat=True))


def _left_unsettled(study: Study, idle: Iterable[int] = ()) -> ParticipationQuerySet:
    ended = Q(worked_seconds=None) & ~Q(status__in=LIVE)
    started = Exists(Turn.objects.filter(participation=OuterRef("pk")))
    return _people(study).filter(started, ended | Q(pk__in=idle))


def settle_left(study: Study) -> None:
    """Settle expired and returned participations. The caller must hold the study's lock."""
    for participation in _left_unsettled(study).order_by("pk"):
        ledger.settle(Participation.objects.select_for_update(no_key=True).get(pk=participation.pk))


def settle_left_in_turn(study: Study) -> None:
    """Settle the same participations in separate transactions, so that others wait less."""
    for pk in _left_unsettled(study).order_by("pk").values_list("pk", flat=True):
        with Study.locking(study.pk):
            ledger.settle(Participation.objects.select_for_update(no_key=True).get(pk=pk))


def spent(study: Study, returning: Participation | None = None, now: datetime | None = None) -> int:
    """Return what annotators earned, in cents, with bonuses; for `returning`, only entries."""
    entries = LedgerEntry.objects.filter(participation__study=study, participation__kind="person")
    entered = entries.aggregate(total=Sum("cents", default=0))["total"]
    unsettled = _left_unsettled(study, _idle(study, now))
    if returning is not None:
        unsettled = unsettled.exclude(pk=returning.pk)
    return entered + _still_due(unsettled)


def reserved(
    study: Study, returning: Participation | None = None, now: datetime | None = None
) -> int:
    """Return what seated annotators can still earn in cents, each of them up to the cap."""
    cap = ledger.cap(study)
    if cap is None:
        return 0
    live = Q(status__in=LIVE) & ~Q(pk__in=_idle(study, now))
    seated = _people(study).filter(live | Q(pk=returning.pk if returning else None))
    sums = seated.annotate(entered=ledger.WITHOUT_BONUSES).values_list("entered", flat=True)
    return sum(max(cap - earned, 0) for earned in sums)


def _still_due(unsettled: ParticipationQuerySet) -> int:
    """Return what annotators who left are owed in cents, without bonuses. Runs two queries."""
    entered = ledger.WITHOUT_BONUSES
    unpaid = unsettled.filter(is_paid=True).defer(*ORDERS).annotate(entered=entered)
    last = {turn.participation_id: turn for turn in Turn.objects.latest_of(unsettled)}
    total = 0
    for participation in unpaid:
        worked = ledger.active_time_to(participation, last.get(participation.pk))
        amount = ledger.amount_due(participation, worked, has_begun=True)
        amount += ledger.for_waiting(participation, amount)
        total += max(amount - participation.entered, 0)
    return total


def has_room(
    study: Study, kind: str, returning: Participation | None = None, now: datetime | None = None
) -> bool:
    """Return whether the budget covers another annotator, or the one who is `returning`.

    The result is only binding while holding the study's lock. Only human annotators cost anything.
    """
    cap = ledger.cap(study)
    if study.budget is None or not cap or kind != Kind.PERSON:
        return True
    newcomer = 0 if returning else cap
    limit = ledger.cents(study.budget) - newcomer
    if _most_taken(study, cap, returning) <= limit:
        return True
    return spent(study, returning, now) + reserved(study, returning, now) <= limit


def _most_taken(study: Study, cap: int, returning: Participation | None) -> int:
    """Return an upper bound in cents, assuming that all unsettled annotators earn up to the cap."""
    live = Q(status__in=LIVE) | Q(pk=returning.pk if returning else None)
    unsettled = Q(pk__in=_left_unsettled(study).order_by().values("pk"))
    entries = LedgerEntry.objects.filter(participation__study=study, participation__kind="person")
    total = entries.order_by().values("participation__study").annotate(total=Sum("cents"))
    sums = _people(study).aggregate(
        earned=Max(Subquery(total.values("total")), default=0),
        open_yet=Count("pk", filter=live | unsettled),
    )
    return sums["earned"] + cap * sums["open_yet"]


def room(study: Study, committed: int | None = None) -> int | None:
    """Return how many more people the budget covers, or None if unlimited. `committed`: cents."""
    cap = ledger.cap(study)
    if study.budget is None or not cap:
        return None
    committed = spent(study) + reserved(study) if committed is None else committed
    return max((ledger.cents(study.budget) - committed) // cap, 0)


def give_bonus(participation: Participation, amount: int, reason: str, by: User) -> LedgerEntry:
    """Add a bonus in cents. Raises BudgetError if over budget, and ValueError like add_bonus."""
    with Study.locking(participation.study_id) as study:
        entry = ledger.add_bonus(participation, amount, reason, by)
        if study.budget is not None:
            left = ledger.cents(study.budget) - spent(study) - reserved(study)
            if left < 0:
                raise BudgetError(
                    "The study's budget cannot cover this bonus in addition to what annotators in"
                    f" progress may still earn: it is {ledger.in_currency(-left)} {study.currency}"
                    " short. Raise the budget first (Recruit)."
                )
        AuditEntry.objects.record(
            "bonus", Topic.PAY, study=study, about=participation.pseudonym,
            after={"cents": amount}, by=by,
        )  # fmt: skip
        watch(study.pk)
        return entry


def _promised(study: Study) -> int:
    """Return the rewards for all places in drafted or published Prolific studies, in cents."""
    rows = study.prolific_studies.values_list("reward_cents", "places")
    return sum(reward * places for reward, places in rows)


def within(study: Study, reward: int, places: int) -> int:
    """Return how many of these places the remaining budget covers. `reward` is in cents."""
    if study.budget is None or not reward:
        return places
    return min(places, max(ledger.cents(study.budget) - _promised(study), 0) // reward)


def check_publication(study: Study, rewards: int) -> None:
    """Raise BudgetError if a platform's rewards exceed the cap or the budget.

    `rewards` is what the platform pays for an entire participation, in cents. The budget must cover
    all studies on Prolific before the first one is published.
    """
    cap = ledger.cap(study)
    if cap is not None and rewards > cap:
        raise BudgetError(
            f"The reward, {ledger.in_currency(rewards)} {study.currency}, is above the maximum"
            f" that the study pays one annotator, {ledger.in_currency(cap)} {study.currency}."
        )
    promised = _promised(study)
    if study.budget is not None and promised > ledger.cents(study.budget):
        raise BudgetError(
            "The rewards for this study's places on Prolific amount to"
            f" {ledger.in_currency(promised)} {study.currency}, above the study's budget,"
            f" {study.budget} {study.currency}. Request fewer places in the drafts, or raise the"
            " budget first (Recruit)."
        )


# Automatic pauses -----------------------------------------------------------------------------


def watch(study_id: int) -> None:
    """Pause the study if necessary, once this transaction is committed.

    The study's lock must be taken before that of a participation, which the caller already holds.
    """
    transaction.on_commit(partial(pause_if_due, study_id), robust=True)


def pause_if_due(study_id: int) -> None:
    """Pause an open study if it has reached its budget or its limit on consecutive screen-outs."""
    with Study.locking(study_id) as study:
        if study.status != StudyStatus.OPEN:
            return
        sums = is_reached(study)
        reason = BUDGET_REACHED if sums else _screened_out_in_a_row(study)
        if reason:
            study.store(status=StudyStatus.PAUSED)
            if sums:  # amounts are only for owners and payers
                study.events.record(f"Budget reached: {sums}", Topic.PAY, study=study)
            study.events.create(what=PAUSED + reason, by=None)


def is_reached(study: Study) -> str:
    """Return a sentence if the budget cannot cover even one more seat, otherwise ""."""
    cap = ledger.cap(study)
    if study.budget is None or not cap or not _has_free_seat(study):
        return ""
    earned = spent(study)
    if earned + cap <= ledger.cents(study.budget):
        return ""
    return (
        f"of the budget of {study.budget} {study.currency}, {ledger.in_currency(earned)} has been"
        f" earned, and one more annotator can earn {ledger.in_currency(cap)}"
    )


def _has_free_seat(study: Study) -> bool:
    seats = study.scenarios.aggregate(n=Sum("seats", default=0))["n"]
    return _people(study).seated().count() < seats


# Screen-outs before the first answer. They do not count on platforms where one client can arrive as
# many people (set in apps.py). Otherwise, anyone could pause a study within seconds by failing the
# comprehension questions.
_COSTS_NOTHING = Q(outcome=False) & ~Exists(
    Answer.objects.filter(turn__participation=OuterRef("participation"))
)
anonymous_platforms = Q()


def _screened_out_in_a_row(study: Study) -> str:
    """Return a sentence if too many annotators in a row were screened out, otherwise "".

    Reopening the study restarts the count. On an open link or a panel, annotators only count once
    they have answered an example.
    """
    number = study.max_screen_outs_in_a_row
    if number is None:
        return ""
    opening = study.events.filter(what__in=OPENINGS).order_by("-pk").first()
    verdicts = Decision.objects.filter(
        participation__study=study,
        participation__kind=Kind.PERSON,
        about=Decision.About.QUALIFICATION,
        at__gte=opening.at if opening else study.created_at,
    ).exclude(anonymous_platforms & _COSTS_NOTHING)
    latest = list(verdicts.order_by("-pk").values_list("outcome", "at")[:number])
    if len(latest) < number or any(passed for passed, _at in latest):
        return ""
    if study.qualification == Qualification.NONE:
        # Only comprehension questions can screen out here, and passing them stores no decision.
        since = latest[-1][1]
        if _people(study).filter(comprehended_at__gte=since).exists():
            return ""
    return f"{number} annotators in a row were screened out"


def notice(study: Study) -> str:
    """Return the reason for the study's current automatic pause, or "" if it has none."""
    if study.status != StudyStatus.PAUSED:
        return ""
    latest = study.events.filter(Q(what__startswith=PAUSED) | Q(what__in=[*OPENINGS, "paused"]))
    last = latest.order_by("-pk").first()
    return last.what if last and last.what.startswith(PAUSED) else ""
