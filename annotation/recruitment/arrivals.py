"""Arrivals: whoever stands at a door gets a seat, and the record of their work is noted."""

from django.db import transaction

from annotation.models import (
    Participation,
    Study,
    Submission,
    Worker,
)
from annotation.money import budget
from annotation.recruitment import expiry, identities, seats
from annotation.recruitment.doors import Door, Identity
from annotation.recruitment.identities import worker_key


def arrive(door: Door, who: Identity, browser: str) -> Participation:
    """Assign a seat to the arrival at that door, and store the platform's record of their work.

    `browser` is the random value of the browser's cookie. Raises RecruitmentError.
    """
    # Also where this arrival is refused in the end: what is swept up here stays so.
    expiry.expire_idle(door.study)
    budget.settle_left_in_turn(door.study)
    with transaction.atomic():
        participation = seats.join(
            door.study.pk,
            worker_key(door.platform, who.person),
            door.platform,
            door.kind,
            among=door.scenarios(),
            part=door.part,
            browser=worker_key("browser", browser) if browser else "",
            anonymous=door.anonymous,
            verified=who.verified,
            refused=door.refusal(),
        )
        # A panel such as SONA has no id for the work: then the person's own leads back and is paid.
        if who.submission or door.submission_fields():
            _note_submission(door, who, participation.worker, participation)
        return participation


def note_elsewhere(door: Door, who: Identity) -> None:
    """An unverified id arrives again in another browser: have the platform confirm it.

    They are shown nothing. Once Prolific has confirmed that the new submission is that person's,
    `attach` lets what they began go on, by their personal link.
    """
    worker = Worker.objects.filter(key=worker_key(door.platform, who.person)).first()
    if worker is not None and door.confirms:
        _note_submission(door, who, worker, None)


def attach(submission: Submission) -> None:
    """Join a confirmed submission to what its worker has begun; the next part of it can go on."""
    with transaction.atomic():
        study = Study.objects.locked().get(pk=submission.study_id)
        theirs = study.participations.filter(worker=submission.worker_id).order_by("-pk")
        begun = theirs.live().first() or theirs.expired_at_work().first()
        if begun is None:
            return
        submission.participation = begun
        submission.save(update_fields=["participation"])
        if begun.is_live:
            assert submission.prolific_study is not None  # only Prolific confirms
            seats.enter_sitting(begun, submission.prolific_study.part)


def submission_key(platform: str, submission: str) -> str:
    """The keyed hash by which a platform's record of some work is found again."""
    return worker_key(f"submission:{platform}", submission)


def _note_submission(
    door: Door, who: Identity, worker: Worker, participation: Participation | None
) -> None:
    """Store the platform's record of this work, once; without a participation it waits for one."""
    submission = who.submission
    if not submission:
        assert participation is not None  # only with an id can work wait for one
        submission = f"participation {participation.pk}"
    stored, created = Submission.objects.get_or_create(
        key=submission_key(door.platform, submission),
        defaults={
            "study": door.study,
            "worker": worker,
            "participation": participation,
            "platform": door.platform,
            "person": identities.encrypt(who.person),
            "verified": True if who.verified else None,
            "reference": identities.encrypt(who.submission),
            **door.submission_fields(),
        },
    )
    if created or participation is None or stored.participation_id == participation.pk:
        return
    # They came again with the same submission after a seat that was never worked on had run out.
    before = stored.participation
    if stored.worker_id == worker.pk and not stored.outcome and (
        before is None or not (before.is_live or before.has_seen_an_example())
    ):  # fmt: skip
        stored.participation = participation
        stored.save(update_fields=["participation"])
