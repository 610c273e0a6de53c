"""Pay batches of ledger entries (batches.py) so that a crash never causes a double payment.

Approving a submission pays its reward and can safely be repeated. Paying a batch of bonuses can't,
because Prolific would pay it again. A batch is therefore stored as "paying" before the request. If
it is still in that state later (after a crash or a lost response), the bonuses that Prolific lists
for its submissions show whether the money arrived. Only an explicit refusal
(`ProlificError.refused`) means that no money was moved.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from contextlib import suppress
from datetime import timedelta

from django.db import transaction

from annotation.models import PaymentBatch, PersonalLink, Submission
from annotation.pay import ledger
from annotation.payout import batches
from annotation.payout.batches import SUBMISSIONS, Method, PaymentError, State
from annotation.prolific.accounts import client_of
from annotation.prolific.adapter import ProlificAdapter
from annotation.prolific.client import Client, ProlificError, undocumented
from annotation.prolific.submissions import Row, sync_submission
from annotation.recruitment import identities
from annotation.recruitment.arrivals import submission_key
from annotation.recruitment.links import PersonalLinkAdapter
from tasks.clock import database_now
from tasks.csv_files import csv_text, no_formula

# Prolific pays bonuses with a delay. Until this time has passed, a missing bonus means nothing.
SETTLING = timedelta(hours=1)
LOST = "cannot be decrypted: IDENTITY_KEY was lost"  # shown instead of an ID
ALREADY_PAYING = "This batch is already being paid."
# Submissions that can still be approved. All others were approved, returned, rejected or timed out.
APPROVABLE = {"RESERVED", "ACTIVE", "PROCESSING", "AWAITING_REVIEW"}
BATCH_COLUMNS = ["platform", "id", "annotator", "amount", "currency", "kind", "reason", "code"]
MAX_APPROVALS = 1000  # per request, as recommended by Prolific


def pay_batch(batch: PaymentBatch, client: Client | None = None) -> PaymentBatch:
    """Pay a prepared batch through Prolific, or find out whether a batch in progress was paid.

    Raises PaymentError or ProlificError. Progress is stored in the batch, so calling this again
    picks up where it stopped.
    """
    batch.refresh_from_db()
    if batch.state == State.PAID:
        return batch
    if batch.state == State.CANCELLED or batch.method in (Method.HAND, Method.EXIT):
        raise PaymentError("This batch is not paid through Prolific.")
    client = client or client_of(batch.prolific_study)
    client.has_acted |= batch.state == State.PAYING
    if batch.method == Method.APPROVAL:
        _claim(batch, State.PREPARED, State.PAYING)
        return _approve(batch, client)
    return _pay_bonuses(batch, client)


def _approve(batch: PaymentBatch, client: Client) -> PaymentBatch:
    """Approve all submissions. Those that cannot be approved leave the batch and remain due.

    Prolific approves large numbers with a delay, so only the status that it reports counts.
    """
    submissions = {submission.pk: submission for submission, _cents in _by_submission(batch)}
    references = _references(list(submissions.values()), batch, client)
    waiting = {reference: submissions[pk] for pk, reference in references.items()}
    lost = [submissions[pk] for pk in submissions if pk not in references]
    statuses = _statuses(batch, client)
    due = [reference for reference in waiting if statuses.get(reference, "ACTIVE") in APPROVABLE]
    refused: dict[str, str] = {}
    for first in range(0, len(due), MAX_APPROVALS):
        refused |= _ask_for(due[first : first + MAX_APPROVALS], client)
    statuses = _statuses(batch, client) if due else statuses
    refusals = []
    for reference, submission in list(waiting.items()):
        status = statuses.get(reference, "")
        if status == "APPROVED":
            Submission.objects.filter(pk=submission.pk).update(status=status)
        elif reference in refused or (status and status not in APPROVABLE):
            # It was returned, refused or timed out, so no money was moved.
            batch.payments.filter(entry__submission=submission).delete()
            reason = refused.get(reference) or status.lower().replace("_", " ")
            refusals.append(f"{submission.participation} ({reason})")
            with suppress(ProlificError):  # otherwise, the next run will sync it
                sync_submission(reference, client)
        else:
            continue
        del waiting[reference]
    if not batch.payments.exists():
        batch.store(state=State.CANCELLED)
    elif not waiting and not lost:
        _paid(batch)
    _notify(refusals, list(waiting.values()), lost)
    return batch


def _notify(refusals: list[str], waiting: list[Submission], lost: list[Submission]) -> None:
    """Raise PaymentError if any submissions of the batch were not approved."""
    sentences = []
    if refusals:
        sentences.append(
            f"Some submissions were not approved: {'; '.join(refusals)}. Prepare a new payment for"
            " these."
        )
    if waiting:
        names = ", ".join(str(submission.participation) for submission in waiting[:10])
        sentences.append(
            f"Prolific has not yet approved {len(waiting)} ({names}). Try again in a minute;"
            " payments are never made twice."
        )
    if lost:
        sentences.append(_cannot_be_found(lost))
    if sentences:
        raise PaymentError(f"{' '.join(sentences)} The others are paid.")


def _ask_for(references: list[str], client: Client) -> dict[str, str]:
    """Approve submissions, and map those that Prolific refused to its reasons.

    If a single request for all of them is refused, they are sent one by one, so that the rest are
    approved.
    """
    refused = {}
    try:
        client.approve_all(references)
    except ProlificError as error:
        if not error.refused:
            raise
        for reference in references:
            try:
                client.approve(reference)
            except ProlificError as own:
                if own.unreachable:
                    raise
                if own.refused:
                    refused[reference] = str(own)
    return refused


def _references(
    submissions: list[Submission], batch: PaymentBatch, client: Client
) -> dict[int, str]:
    """Map primary keys to IDs on Prolific. Lost IDs are found by their hash, or omitted."""
    references, lost = {}, []
    for submission in submissions:
        try:
            references[submission.pk] = identities.decrypt(submission.reference)
        except identities.LostKey:
            lost.append(submission)
    if lost:
        listed = {
            submission_key(ProlificAdapter.platform, reference): reference
            for reference in _statuses(batch, client)
        }
        references |= {
            submission.pk: listed[submission.key] for submission in lost if submission.key in listed
        }
    return references


def _cannot_be_found(lost: list[Submission]) -> str:
    names = ", ".join(str(submission.participation) for submission in lost[:10])
    return (
        f"{len(lost)} ({names}) cannot be found on Prolific, because their ids were stored with"
        " another IDENTITY_KEY. Look for them on Prolific."
    )


def _study_there(batch: PaymentBatch) -> str:
    assert batch.prolific_study is not None
    return batch.prolific_study.id_there


def _statuses(batch: PaymentBatch, client: Client) -> dict[str, str]:
    """Map IDs of submissions to their status on Prolific. Malformed rows are skipped."""
    statuses = {}
    for data in client.submissions(_study_there(batch)):
        with suppress(ProlificError):
            row = Row.read(data)
            statuses[row.session] = row.status
    return statuses


def _pay_bonuses(batch: PaymentBatch, client: Client) -> PaymentBatch:
    if batch.state == State.PAYING:
        return _look_up(batch, client)
    if not batch.external_id:
        # Setting up bonuses does not pay anything. If the response is lost, they are set up again.
        study_id = _study_there(batch)
        batch.store(external_id=client.prepare_bonuses(study_id, bonus_lines(batch)))
    if not _claim(batch, State.PREPARED, State.PAYING):
        raise PaymentError(ALREADY_PAYING)
    # From here on, the batch may have been paid, so look it up before any other request.
    try:
        client.pay_bonuses(batch.external_id)
    except ProlificError as error:
        if error.refused:  # for example for lack of funds
            _claim(batch, State.PAYING, State.PREPARED)
        raise
    return _paid(batch)


def _claim(batch: PaymentBatch, source: str, target: str) -> bool:
    """Change the state of a batch if it is still `source`. Only one process can succeed."""
    with transaction.atomic():
        moved = PaymentBatch.objects.filter(pk=batch.pk, state=source).update(
            state=target, paying_since=database_now()
        )
        batch.refresh_from_db()
        if moved:
            event = "begun" if target == State.PAYING else "refused"
            batches.log(batch, f"pay batch: payment {event}", source)
    return bool(moved)


def _look_up(batch: PaymentBatch, client: Client) -> PaymentBatch:
    """Find out whether the requested bonuses arrived. After a long time, request them again."""
    amounts = _by_submission(batch)
    references = _references([submission for submission, _cents in amounts], batch, client)
    if lost := [submission for submission, _cents in amounts if submission.pk not in references]:
        raise PaymentError(f"Batch {batch.pk} was being paid: {_cannot_be_found(lost)}")
    arrived = [
        _has_arrived(submission, references[submission.pk], cents, batch, client)
        for submission, cents in amounts
    ]
    if all(arrived):
        return _paid(batch)
    if any(arrived):
        raise PaymentError(
            f"Only {sum(arrived)} of {len(arrived)} bonuses of batch {batch.pk} have arrived at"
            " Prolific. Try again later."
        )
    assert batch.paying_since is not None  # always set in this state
    if database_now() - batch.paying_since < SETTLING:
        raise PaymentError(
            f"The connection failed while batch {batch.pk} was being paid. Prolific does not show"
            " its bonuses yet. Try again in an hour; payments are never made twice."
        )
    # After so long, the request must have been lost. Set up the bonuses again with a new ID, unless
    # another process has already done so and will pay them.
    unchanged = PaymentBatch.objects.filter(
        pk=batch.pk, state=State.PAYING, paying_since=batch.paying_since
    )
    if not unchanged.update(external_id="", state=State.PREPARED):
        raise PaymentError(ALREADY_PAYING)
    batch.refresh_from_db()
    return _pay_bonuses(batch, client)


def _has_arrived(
    submission: Submission, reference: str, cents: int, batch: PaymentBatch, client: Client
) -> bool:
    """Return whether Prolific lists this bonus in addition to those paid earlier."""
    bonuses = client.submission(reference).get("bonus_payments") or []
    if not isinstance(bonuses, list) or not all(isinstance(each, int | float) for each in bonuses):
        raise undocumented(f"list of the bonuses of {submission}", bonuses)
    earlier = PaymentBatch.objects.filter(
        study=batch.study, method=Method.BONUS, state=State.PAID,
        prolific_study=batch.prolific_study,
    )  # fmt: skip
    paid_before = sum(
        amount
        for earlier_batch in earlier
        for paid, amount in _by_submission(earlier_batch)
        if paid.pk == submission.pk
    )
    return sum(bonuses) >= paid_before + cents


def _paid(batch: PaymentBatch) -> PaymentBatch:
    previous = batch.state
    with transaction.atomic():
        batch.store(state=State.PAID, paid_at=database_now())
        batches.log(batch, "pay batch paid", previous)
    return batch


def mark_paid(batch: PaymentBatch) -> None:
    """Record that a batch was paid manually. Raises PaymentError."""
    with PaymentBatch.locking(batch.pk) as batch:
        if batch.method != Method.HAND:
            raise PaymentError("Only a batch that is paid manually can be marked as paid.")
        if batch.state != State.PREPARED:
            raise PaymentError(f"This batch is {batch.state}.")
        _paid(batch)


def _by_submission(batch: PaymentBatch) -> list[tuple[Submission, int]]:
    sums: dict[int, int] = defaultdict(int)
    submissions: dict[int, Submission] = {}
    payments = batch.payments.select_related("entry__submission", "entry__participation__worker")
    for payment in payments.order_by("pk"):
        entry = payment.entry
        submission = entry.submission
        if submission is None or submission.prolific_study_id != batch.prolific_study_id:
            confirmed = entry.participation.worker.submissions.filter(verified=True)
            of_study = confirmed.filter(prolific_study=batch.prolific_study)
            submission = of_study.order_by("-pk").first()
        if submission is None or not submission.person:
            raise PaymentError(
                f"{entry.participation} cannot be paid: the identity was deleted or is unknown."
            )
        submissions[submission.pk] = submission
        sums[submission.pk] += entry.cents
    return [(submissions[pk], cents) for pk, cents in sums.items()]


def bonus_lines(batch: PaymentBatch) -> list[tuple[str, str]]:
    """Return (participant, amount in currency units). Raises PaymentError if an ID is missing."""
    sums: dict[str, int] = defaultdict(int)
    for submission, cents in _by_submission(batch):
        try:
            sums[identities.decrypt(submission.person)] += cents
        except identities.LostKey as error:
            raise PaymentError(
                f"{submission.participation} cannot be paid on Prolific. {error} Cancel this batch"
                " and prepare a new payment, in which this annotator is paid manually."
            ) from None
    return [(person, ledger.in_currency(cents)) for person, cents in sums.items()]


def batch_csv(batch: PaymentBatch) -> str:
    """Return a batch as CSV for manual payment.

    Bonuses use Prolific's format (participant,amount without a header); other batches have a header
    (BATCH_COLUMNS). Cells that spreadsheets would interpret as formulas are escaped. Cells for lost
    IDs contain LOST. Raises PaymentError for a bonus without an ID.
    """
    header = [] if batch.method == Method.BONUS else BATCH_COLUMNS
    rows = bonus_lines(batch) if batch.method == Method.BONUS else _batch_rows(batch)
    return csv_text(header, (map(no_formula, row) for row in rows))


def _batch_rows(batch: PaymentBatch) -> Iterator[list[str]]:
    links: Iterable[PersonalLink] = batch.study.personal_links.all()
    names = {
        identities.worker_key(PersonalLinkAdapter.platform, link.code): link.name for link in links
    }
    payments = batch.payments.select_related("entry__participation__worker").order_by("pk")
    for payment in payments.prefetch_related(*(f"entry__participation__{n}" for n in SUBMISSIONS)):
        entry, worker = payment.entry, payment.entry.participation.worker
        latest = entry.participation.latest_submission()
        person = names.get(worker.key, "")
        if latest:
            person = (
                LOST if identities.is_lost(latest.person) else identities.decrypt(latest.person)
            )
        yield [
            worker.platform, person, entry.participation.pseudonym, entry.amount,
            entry.currency, entry.get_kind_display(), entry.reason,
            entry.participation.completion_code,
        ]  # fmt: skip
