"""Group ledger entries that are due into batches by payment method, each in at most one batch.

The payments themselves are made by payments.py. The only amounts that this module records as paid
are those that Prolific paid for an exit.
"""

from collections.abc import Collection
from typing import Any

from django.contrib.auth.models import User
from django.db.models import QuerySet

from annotation.models import (
    AuditEntry,
    LedgerEntry,
    Payment,
    PaymentBatch,
    Study,
    Submission,
    Topic,
)
from annotation.pay import holds, ledger
from annotation.protocol.qualification import CannotDecide, NotConfirmed
from annotation.recruitment import identities
from tasks.clock import database_now
from tasks.columns import grouped

Method, State, Kind = PaymentBatch.Method, PaymentBatch.State, LedgerEntry.Kind
APPROVABLE = {"ACTIVE", "AWAITING_REVIEW", "APPROVED", ""}
SUBMISSIONS = ("submissions", "worker__submissions")  # for Participation.latest_submission
MAX_BONUSES = 200  # maximum number of people per batch, as recommended by Prolific


class PaymentError(Exception):
    """The payment is not possible at present. The message is shown to users."""


def unpaid(study: Study) -> QuerySet[LedgerEntry]:
    """Return human annotators' ledger entries that aren't in a batch yet, oldest first."""
    entries = LedgerEntry.objects.filter(participation__study=study, payment__isnull=True)
    entries = entries.filter(participation__kind="person").order_by("pk")
    entries = entries.select_related("participation__worker", "submission__prolific_study")
    return entries.prefetch_related(*(f"participation__{name}" for name in SUBMISSIONS))


def payout_route(entry: LedgerEntry) -> tuple[str, int | None]:
    """Return an entry's payment method ("" if not payable yet) and its ProlificStudy's key."""
    submission = entry.submission
    if not entry.participation.is_paid:
        return "", None
    came_by = submission or entry.participation.latest_submission()
    if came_by is not None and came_by.prolific_study_id is not None:
        if came_by.verified is None and came_by.reference:
            return "", None  # Prolific has not yet confirmed it
        if not came_by.verified or not came_by.person:
            return Method.HAND, None  # Prolific can't pay people it doesn't know
    if entry.kind == Kind.SCREEN_OUT and submission is not None:
        if submission.status == "SCREENED_OUT":
            return Method.EXIT, submission.prolific_study_id
        # They left without entering the code, so once the place is returned, they get a bonus.
        has_returned = submission.status in ("RETURNED", "TIMED_OUT")
        return _by_bonus(submission) if has_returned else ("", submission.prolific_study_id)
    if entry.kind == Kind.BASE and submission is not None and submission.status in APPROVABLE:
        return Method.APPROVAL, submission.prolific_study_id
    if came_by is not None and came_by.prolific_study_id is not None:
        return _by_bonus(came_by)
    return Method.HAND, None


def _by_bonus(submission: Submission) -> tuple[str, int | None]:
    """Return the route for a bonus on Prolific, or for manual payment if the ID was lost."""
    if identities.is_lost(submission.person):
        return Method.HAND, None
    return Method.BONUS, submission.prolific_study_id


def payable(study: Study) -> list[LedgerEntry]:
    """Return unpaid entries that are not being held for review (annotation/pay/holds.py)."""
    pks = {entry.pk for hold in holds.holds(study) for entry in hold.entries}
    return [entry for entry in unpaid(study) if entry.pk not in pks]


def prepared_in_words(number: int) -> str:
    if not number:
        return "Nothing new is due."
    return "1 batch was prepared." if number == 1 else f"{number} batches were prepared."


def _selected(entries: list[LedgerEntry], names: set[str], confirmed: str) -> list[LedgerEntry]:
    """Return the entries of these annotators. Raises CannotDecide or NotConfirmed."""
    due = [e for e in entries if e.participation.pseudonym in names and payout_route(e)[0]]
    if missing := names - {entry.participation.pseudonym for entry in due}:
        reason = "nothing can be paid now (no earnings, paid already, withheld or on hold)."
        raise CannotDecide({name: f"{name}: {reason}" for name in sorted(missing)})
    amount = ledger.in_currency(sum(entry.cents for entry in due))
    NotConfirmed.check(
        f"Annotators: {len(names)}. Payment: {amount} {due[0].currency}, prepared now, and then"
        " sent or cancelled under Payments.",
        confirmed,
    )
    return due


def prepare(
    study: Study, by: User | None, names: Collection[str] | None = None, confirmed: str = ""
) -> list[PaymentBatch]:
    """Settle ended participations, and put entries that are not in any batch into batches.

    Amounts that Prolific paid for an exit are recorded as paid, but nothing else is paid here. Held
    entries are excluded. With `names`, either all or none of them are paid: see _selected.
    """
    ledger.settle_ended(study)
    # If the button was clicked twice, the second request finds nothing left to prepare.
    with Study.locking(study.pk):
        entries = payable(study)
        if names is not None:
            entries = _selected(entries, set(names), confirmed)
        groups = grouped((payout_route(entry), entry) for entry in entries)
        batches = []
        for method, prolific_study in sorted(groups, key=str):
            if not method:
                continue
            group = groups[method, prolific_study]
            by_exit = method == Method.EXIT
            for entries in _portions(group) if method == Method.BONUS else [group]:
                batch = PaymentBatch.objects.create(
                    study=study,
                    method=method,
                    prolific_study_id=prolific_study,
                    made_by=by,
                    state=State.PAID if by_exit else State.PREPARED,
                    paid_at=database_now() if by_exit else None,
                )
                Payment.objects.bulk_create(Payment(batch=batch, entry=entry) for entry in entries)
                batches.append(batch)
                cents = sum(entry.cents for entry in entries)
                log(batch, "pay batch prepared", None, cents=cents, by=by)
    return batches


def log(
    batch: PaymentBatch, event: str, previous: str | None, by: User | None = None, **values: Any
) -> None:
    AuditEntry.objects.record(
        f"{event} ({batch.get_method_display()})", Topic.PAY, study=batch.study,
        about=f"batch {batch.pk}", by=by,
        before={"state": previous} if previous else None, after={"state": batch.state, **values},
    )  # fmt: skip


def _portions(entries: list[LedgerEntry]) -> list[list[LedgerEntry]]:
    """Split entries into groups of at most MAX_BONUSES people, keeping each person in one group."""
    people = list(grouped((entry.participation.worker_id, entry) for entry in entries).values())
    return [
        [entry for rows in people[first : first + MAX_BONUSES] for entry in rows]
        for first in range(0, len(people), MAX_BONUSES)
    ]


def cancel(batch: PaymentBatch) -> None:
    """Cancel a prepared batch, which releases its entries. Raises PaymentError."""
    with PaymentBatch.locking(batch.pk) as batch:
        if batch.state != State.PREPARED:
            raise PaymentError(f"This batch is {batch.state} and cannot be cancelled.")
        batch.payments.all().delete()
        batch.store(state=State.CANCELLED)
        log(batch, "pay batch cancelled", State.PREPARED)
