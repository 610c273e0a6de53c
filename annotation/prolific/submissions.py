"""Submissions on Prolific, and how they affect seats, pay decisions and confirmations."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from django.db import transaction
from django.utils import timezone
from django.utils.dateparse import parse_datetime

from annotation.models import (
    MAY_RESUME,
    Decision,
    Participation,
    ProlificStudy,
    Status,
    Study,
    Submission,
)
from annotation.pay import ledger
from annotation.privacy import withdrawal
from annotation.prolific.accounts import client_of
from annotation.prolific.adapter import ProlificAdapter
from annotation.prolific.client import Client, ProlificError, status_of, undocumented
from annotation.recruitment import arrivals, identities, seats

# Submissions that take up a place in the study on Prolific.
TAKE_A_PLACE = {
    "RESERVED", "ACTIVE", "AWAITING_REVIEW", "APPROVED", "PARTIALLY_APPROVED", "PROCESSING",
}  # fmt: skip
IN_PROGRESS = {"RESERVED", "ACTIVE"}
RECRUITING = {"ACTIVE", "PAUSED", "AWAITING_REVIEW", "COMPLETED"}


@dataclass
class SyncReport:
    submissions: int = 0
    changed: int = 0
    freed: int = 0
    barred: int = 0
    places_added: int = 0
    paused: int = 0
    started: int = 0
    not_confirmed: int = 0
    problems: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        return (
            f"{self.submissions} submissions, {self.changed} changed, {self.freed} seats freed,"
            f" {self.places_added} places added, {self.barred} people blocked,"
            f" {self.paused} paused, {self.started} started, {self.not_confirmed} not confirmed"
        )

    def warnings(self) -> list[str]:
        return [f"Not synced: {problem}" for problem in self.problems[:10]]

    @contextmanager
    def noting(self, item: object) -> Iterator[None]:
        """Collect errors about this item, raising ProlificError only if Prolific is unreachable."""
        try:
            yield
        except ProlificError as error:
            if error.unreachable:
                raise
            self.problems.append(f"{item}: {error}"[:400])
        except identities.LostKey as error:
            self.problems.append(f"{item}: {error}")


@dataclass(frozen=True)
class Row:
    session: str
    status: str
    return_requested_at: datetime | None
    completed_at: datetime | None

    @classmethod
    def read(cls, data: Any) -> "Row":
        """Convert a submission. Raises ProlificError if it is malformed."""
        if not isinstance(data, dict) or not isinstance(data.get("id"), str):
            raise undocumented("submission without an id", data)
        return cls(
            data["id"].lower(),
            status_of(data.get("status")),
            _moment(data.get("return_requested")),
            _moment(data.get("completed_at")),
        )

    @property
    def key(self) -> str:
        return arrivals.submission_key(ProlificAdapter.platform, self.session)

    @property
    def return_is_open(self) -> bool:
        return self.status == "AWAITING_REVIEW" and self.return_requested_at is not None


def _moment(text: Any) -> datetime | None:
    try:
        time = parse_datetime(text) if isinstance(text, str) else None
    except ValueError:
        return None
    return time.replace(tzinfo=UTC) if time and timezone.is_naive(time) else time


@dataclass(frozen=True)
class PlaceCounts:
    study: ProlificStudy
    # Submissions that take up a place, those not asked to be returned, and those yet to arrive.
    occupied: int
    staying: int
    coming: int

    @property
    def open_places(self) -> int:
        return self.study.places - self.occupied

    @property
    def may_let_in(self) -> bool:
        is_ours = self.study.status != "PAUSED" or self.study.paused_here
        return status_of(self.study.status) in RECRUITING and self.study.part <= 1 and is_ours


# An arrival may appear in Prolific's API with this much delay.
MAY_BE_LATE = timedelta(hours=1)
REJECTED = "rejected on Prolific"
NOT_CONFIRMED = "Prolific does not confirm that this submission belongs to this person"


def sync_submission(session: str, client: Client | None = None) -> bool:
    """Sync a submission. Returns False if it isn't in any of our studies. Raises ProlificError."""
    key = arrivals.submission_key(ProlificAdapter.platform, session.lower())
    submissions = Submission.objects.select_related("prolific_study__account__owner")
    submission = submissions.filter(key=key).first()
    if submission is None:
        return False
    client = client or client_of(submission.prolific_study, patient=True)
    record = client.submission(session)
    # Use the ID that was requested, even if the response contains a different one.
    return take_over(Row.read({**record, "id": session}), SyncReport())


def take_over(row: Row, report: SyncReport) -> bool:
    """Store the status of a submission, and apply its effects once, in a single transaction."""
    with transaction.atomic():
        submission = Submission.objects.filter(key=row.key).first()
        if submission is None or not _is_news(submission, row):
            return submission is not None
        # Locks are always taken in this order: study, participation, submission.
        Study.objects.select_for_update(no_key=True).get(pk=submission.study_id)
        locked = Participation.objects.select_for_update(no_key=True)
        participation = locked.filter(pk=submission.participation_id).first()  # type: ignore[misc]  # none: no row
        rows = Submission.objects.select_for_update(no_key=True)
        submission = rows.filter(pk=submission.pk).first()
        if submission is None or not _is_news(submission, row):
            return submission is not None
        previous = submission.status
        submission.store(status=row.status, return_requested_at=row.return_requested_at)
        if previous == row.status:
            return True
        _follow(submission, previous, participation, report)
    report.changed += 1
    return True


def _is_news(submission: Submission, row: Row) -> bool:
    stored = (submission.status, submission.return_requested_at)
    return stored != (row.status, row.return_requested_at)


def _follow(
    submission: Submission, previous: str, participation: Participation | None, report: SyncReport
) -> None:
    """Apply the effects of a new status. The caller must hold the locks."""
    if participation is None or participation.submissions.order_by("-pk").first() != submission:
        return  # a later submission covers the work
    if previous == "REJECTED":
        # Undo the effects, unless a user has decided otherwise in the meantime.
        reason = "the rejection on Prolific was reversed"
        if participation.status == Status.REJECTED:
            ended = submission.status_before_rejection
            # The seat was freed. If one is free, the participant's page offers to continue.
            participation.store(status=ended if ended in MAY_RESUME else Status.RETURNED)
        participation.refresh_from_db()
        _pay_again(participation, reason)
    if submission.status == "RETURNED":
        report.freed += seats.release_seat(participation, Status.RETURNED)
    elif submission.status == "TIMED_OUT":
        report.freed += seats.release_seat(participation, Status.EXPIRED)
    elif submission.status == "REJECTED":
        report.freed += participation.is_live
        # Work that has ended keeps its status, and completed work stays in the analysis until a
        # researcher excludes it (exclusion.rejected_elsewhere).
        submission.store(status_before_rejection=participation.status)
        if participation.is_live or participation.status in MAY_RESUME:
            participation.store(status=Status.REJECTED, seat_number=None)
        participation.refresh_from_db()
        ledger.decide(participation, False, REJECTED, None)


def _was_ours(participation: Participation) -> bool:
    last = participation.decisions.filter(about=Decision.About.PAY).order_by("pk").last()
    # A withdrawal in the meantime replaces all reasons.
    ours = (REJECTED, NOT_CONFIRMED, withdrawal.REASON)
    return last is not None and last.by_id is None and last.reason in ours


def verify(study: Study, client: Client, report: SyncReport) -> None:
    """Ask Prolific whether each submission with unsigned IDs belongs to this person and study.

    Unconfirmed people are listed on the study's pages, and are paid only if a payer decides so.
    They are checked again in later runs, because Prolific's data may lag behind.
    """
    unverified = study.submissions.filter(prolific_study__external_id__isnull=False)
    unverified = unverified.exclude(verified=True).exclude(reference="")
    for submission in unverified.select_related("prolific_study", "participation"):
        with report.noting(f"{submission.participation or submission}"):
            if submission.verified is False and _is_vouched_for(submission.participation):
                continue
            answer = _is_confirmed(submission, client)
            if answer is not None and answer != submission.verified:
                report.not_confirmed += not answer
                _settle(submission, answer)
                if answer and submission.participation_id is None:
                    arrivals.attach(submission)


def _settle(submission: Submission, is_confirmed: bool) -> None:
    with transaction.atomic():
        locked = Participation.objects.select_for_update(no_key=True)
        participation = locked.filter(pk=submission.participation_id).first()  # type: ignore[misc]  # none: no row
        if submission.verified is False and _is_vouched_for(participation):
            return
        submission.store(verified=is_confirmed)
        if participation is None:
            return
        if is_confirmed:
            _pay_again(participation, "Prolific has now confirmed the participant")
        else:
            ledger.decide(participation, False, NOT_CONFIRMED, None)


def _is_vouched_for(participation: Participation | None) -> bool:
    if participation is None:
        return False
    decided = participation.decisions.filter(about=Decision.About.PAY).exists()
    return decided and not _was_ours(participation)


def _pay_again(participation: Participation, reason: str) -> None:
    """Pay people who were not paid only because of a Prolific status that has since changed."""
    latest = participation.submissions.order_by("-pk").first()
    holds = participation.submissions.filter(verified=False).exists() or (
        latest is not None and latest.status == "REJECTED"
    )
    if not holds and not participation.is_paid and _was_ours(participation):
        ledger.decide(participation, True, reason, None)


def _is_confirmed(submission: Submission, client: Client) -> bool | None:
    """Return whether Prolific confirms the submission's person and study. None if too early."""
    try:
        record = client.submission(identities.decrypt(submission.reference))
    except ProlificError as error:
        is_fresh = submission.arrived_at > timezone.now() - MAY_BE_LATE
        if error.refused and error.status == 404 and is_fresh:
            return None
        if error.refused and error.status in (400, 404):
            return False
        raise
    person = str(record.get("participant") or record.get("participant_id") or "").lower()
    return person == identities.decrypt(submission.person).lower() and (
        str(record.get("study_id", "")).lower() == submission.prolific_study.external_id  # type: ignore[union-attr]  # only its adapter stores these
    )
