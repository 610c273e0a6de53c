"""Assign seats to arrivals, store platforms' records of their work, and find their exits."""

import logging

from django.db import transaction

from annotation.models import Participation, Status, Study, Submission, Worker
from annotation.pay import budget
from annotation.recruitment import identities, links, seats
from annotation.recruitment.identities import worker_key
from annotation.recruitment.join_errors import RecruitmentError
from annotation.recruitment.platform_adapters import Exit, Identity, PlatformAdapter, adapter_of

logger = logging.getLogger(__name__)


def arrive(adapter: PlatformAdapter, identity: Identity, browser: str) -> Participation:
    """Assign a seat. `browser` is the value of the browser's cookie. Raises RecruitmentError."""
    # This is done even if the arrival is refused afterwards.
    seats.expire_idle(adapter.study)
    budget.settle_left_in_turn(adapter.study)
    with transaction.atomic():
        participation = seats.join(
            adapter.study.pk,
            worker_key(adapter.platform, identity.person),
            adapter.platform,
            adapter.kind,
            among=adapter.scenarios(),
            part=adapter.part,
            browser=worker_key("browser", browser) if browser else "",
            anonymous=adapter.anonymous,
            verified=identity.verified,
            refused=adapter.refusal(),
        )
        # Panels such as SONA have no submission ID: people are identified and paid by their own ID.
        if identity.submission or adapter.submission_fields():
            _note_submission(adapter, identity, participation.worker, participation)
        return participation


def note_elsewhere(adapter: PlatformAdapter, identity: Identity) -> None:
    """Store that an unverified ID arrived in another browser, for the platform to confirm.

    The visitor does not see this. If Prolific confirms that the new submission belongs to that
    person, `attach` lets them continue through their personal link.
    """
    worker = Worker.objects.filter(key=worker_key(adapter.platform, identity.person)).first()
    if worker is not None and adapter.confirms:
        _note_submission(adapter, identity, worker, None)


def attach(submission: Submission) -> None:
    """Attach a confirmed submission to the worker's participation and start its next part."""
    with Study.locking(submission.study_id) as study:
        rows = study.participations.filter(worker=submission.worker_id).order_by("-pk")
        participation = rows.live().first() or rows.expired_at_work().first()
        if participation is None:
            return
        submission.store(participation=participation)
        if participation.is_live:
            assert submission.prolific_study is not None  # only Prolific confirms submissions
            seats.enter_part(participation, submission.prolific_study.part)


def submission_key(platform: str, submission: str) -> str:
    """Return a keyed hash that identifies a platform's record of a worker's work."""
    return worker_key(f"submission:{platform}", submission)


def _note_submission(
    adapter: PlatformAdapter, ids: Identity, worker: Worker, participation: Participation | None
) -> None:
    """Store the platform's record of this work once, even before there is a participation."""
    submission = ids.submission
    if not submission:
        assert participation is not None  # it is always set if there is no ID
        submission = f"participation {participation.pk}"
    stored, created = Submission.objects.get_or_create(
        key=submission_key(adapter.platform, submission),
        defaults={
            "study": adapter.study,
            "worker": worker,
            "participation": participation,
            "platform": adapter.platform,
            "person": identities.encrypt(ids.person),
            "verified": True if ids.verified else None,
            "reference": identities.encrypt(ids.submission),
            **adapter.submission_fields(),
        },
    )
    if created or participation is None or stored.participation_id == participation.pk:
        return
    if stored.worker_id != worker.pk:  # otherwise, the platform would never be asked about them
        raise RecruitmentError("elsewhere")
    # The same submission arrived again, after an unused seat had expired.
    earlier = stored.participation
    is_used = earlier is not None and (earlier.is_live or earlier.has_seen_an_example())
    if not (stored.outcome or is_used):
        stored.store(participation=participation)


def exit_of(participation: Participation, outcome: str) -> Exit | None:
    """Return the exit to the platform that the worker last came from.

    A submission ends with a worker's first task, so its outcome also applies to further tasks.
    """
    latest = participation.latest_submission()
    if latest is None:
        return links.OpenLink(participation.study).exit(
            outcome, None, participation.completion_code
        )
    if latest.participation_id != participation.pk:
        outcome = latest.outcome or outcome
    try:
        identity = Identity(identities.decrypt(latest.person), identities.decrypt(latest.reference))
    except ValueError as error:
        # A worker's last page must not fail, so show the code and log the error for the operator.
        logger.error("%s", error)
        identity = None
    return adapter_of(latest).exit(outcome, identity, participation.completion_code)


# Maps a participation's status to its outcome (a key of platform_adapters.OUTCOMES).
OUTCOMES = {
    Status.BETWEEN: "completed", Status.COMPLETED: "completed", Status.REFUSED: "study_full",
    Status.SCREENED_OUT: "not_qualified",
}  # fmt: skip


def current_exit(participation: Participation) -> Exit | None:
    """Return the exit, or None before the end of the work, so that the code stays secret."""
    status, finished_at = participation.status, participation.finished_at
    if status != Status.BETWEEN and is_rejected(participation):
        return None
    outcome = OUTCOMES.get(Status(status), "")
    if status == Status.WITHDRAWN and finished_at is not None:
        # Withdrawing does not change the earnings, so the code must remain available.
        outcome = "completed" if finished_at < participation.tombstone.erased_at else ""
    return exit_of(participation, outcome) if outcome else None


def is_rejected(participation: Participation) -> bool:
    latest = participation.submissions.order_by("-pk").first()
    return participation.status == Status.REJECTED or (
        latest is not None and latest.status == "REJECTED" and not participation.is_paid
    )
