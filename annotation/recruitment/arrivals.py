"""Assign seats to arrivals and store platforms' records of their work."""

from django.db import transaction

from annotation.models import Participation, Study, Submission, Worker
from annotation.pay import budget
from annotation.recruitment import expiry, identities, seats
from annotation.recruitment.identities import worker_key
from annotation.recruitment.join_errors import RecruitmentError
from annotation.recruitment.platform_adapters import Identity, PlatformAdapter


def arrive(adapter: PlatformAdapter, identity: Identity, browser: str) -> Participation:
    """Assign a seat. `browser` is the value of the browser's cookie. Raises RecruitmentError."""
    # This is done even if the arrival is refused afterwards.
    expiry.expire_idle(adapter.study)
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
