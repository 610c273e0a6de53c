"""What a researcher can do about one submission beside approving it: ask for its return, reject it.

Prolific's rules (FACTS 1.1): low accuracy is no ground to reject, nor is being screened out. Valid
are failed attention checks (two where the study takes five minutes or more), work far faster than
others, and clear low effort. Rejected is not paid; what counts in the analysis is another matter.
"""

from django.contrib.auth.models import AbstractBaseUser

from annotation import identities
from annotation.models import Participation, Submission
from annotation.recruiters.prolific.client import Client
from annotation.recruiters.prolific.sync import sync_submission

SHORTEST_MESSAGE = 100  # characters
CATEGORIES = {
    "FAILED_CHECK": "failed attention checks",
    "TOO_QUICKLY": "far too fast",
    "LOW_EFFORT": "clear low effort",
    "FAILED_INSTRUCTIONS": "did not follow the instructions",
    "NO_DATA": "no answers",
    "OTHER": "another reason",
}


class ReviewError(ValueError):
    """Why it was not sent; the text is for people."""


def reviewable(participation: Participation) -> Submission | None:
    """The submission on Prolific that can still be rejected or returned, or None."""
    latest = participation.submissions.exclude(prolific_study=None).order_by("-pk").first()
    open_yet = latest is not None and latest.person and latest.status != "APPROVED"
    return latest if open_yet else None


def ask_to_return(participation: Participation, reason: str) -> None:
    """Ask somebody on Prolific to give the submission back. Raises ReviewError, ProlificError."""
    submission = _one(participation)
    if not reason.strip():
        raise ReviewError("Write why: Prolific shows it to the participant.")
    Client().ask_to_return(identities.show(submission.reference), reason.strip())


def reject(participation: Participation, message: str, category: str, by: AbstractBaseUser) -> None:
    """Reject a submission on Prolific, and take over what follows.

    Raises ReviewError, ProlificError.
    """
    submission = _one(participation)
    message = message.strip()
    if category not in CATEGORIES:
        raise ReviewError("Choose the ground.")
    if len(message) < SHORTEST_MESSAGE:
        raise ReviewError(
            f"Prolific asks for a message of at least {SHORTEST_MESSAGE} characters; this has"
            f" {len(message)}."
        )
    if participation.ledger.filter(payment__isnull=False).exists():
        raise ReviewError("It is being paid or is paid already.")
    reference = identities.show(submission.reference)
    Client().reject(reference, message, category)
    participation.study.events.create(
        what=f"rejected on Prolific ({CATEGORIES[category]}): {participation}", by=by
    )
    sync_submission(reference)


def _one(participation: Participation) -> Submission:
    found = reviewable(participation)
    if found is None:
        raise ReviewError("There is no submission on Prolific that is still open.")
    return found
