"""Requests by researchers about a submission: to have it returned, or to reject it.

This module enforces Prolific's rules (docs/prolific.md#prolifics-constraints). Neither low accuracy
nor a screen-out justifies a rejection. Valid reasons are failed attention checks (one in studies of
less than five minutes, otherwise two), work that is far faster than that of others, no work at all,
and clearly low effort. Rejected work isn't paid. Whether the analysis includes it is a separate
decision.
"""

import statistics

from django.contrib.auth.models import User

from annotation.models import Answer, Participation, Status, Submission, Topic
from annotation.prolific.accounts import client_of
from annotation.prolific.submissions import sync_submission
from annotation.protocol import attention_checks
from annotation.recruitment import identities

SHORTEST_MESSAGE = 100  # characters
CATEGORIES = {
    "FAILED_CHECK": "failed attention checks",
    "TOO_QUICKLY": "far too fast",
    "LOW_EFFORT": "clear low effort",
    "NO_DATA": "no answers",
}
SHORT_STUDY = 5  # minutes; in longer studies, one failed check is not enough
SDS_TOO_FAST = 3
OTHERS_NEEDED = 5  # others required for a mean and standard deviation of times
# Statuses of submissions that Prolific no longer processes.
OVER = {
    "APPROVED", "PARTIALLY_APPROVED", "REJECTED", "RETURNED", "TIMED_OUT", "SCREENED_OUT",
}  # fmt: skip


class ReviewError(ValueError):
    """Raised if the request wasn't sent. The message is shown to users."""


def reviewable(submission: Submission | None) -> Submission | None:
    """Return the submission if it can still be rejected or returned, otherwise None."""
    open_yet = submission and submission.person and submission.status not in OVER
    return submission if open_yet else None


def ask_to_return(participation: Participation, reason: str) -> None:
    """Ask a participant to return their submission. Raises ReviewError or ProlificError."""
    submission = _open_submission(participation)
    if not reason.strip():
        raise ReviewError("Enter a reason. Prolific shows it to the participant.")
    client, reference = client_of(submission.prolific_study), _reference(submission)
    client.ask_to_return(reference, reason.strip())
    participation.study.events.record(
        "asked on Prolific to return the work", Topic.PEOPLE, study=participation.study,
        about=participation.pseudonym,
    )  # fmt: skip
    sync_submission(reference, client)


def reject(participation: Participation, message: str, category: str, by: User) -> None:
    """Reject a submission, both here and on Prolific. Raises ReviewError or ProlificError."""
    submission = _open_submission(participation)
    message = message.strip()
    if category not in CATEGORIES:
        raise ReviewError("Choose a reason.")
    if participation.status == Status.SCREENED_OUT:
        raise ReviewError(
            "Screened-out annotators must be paid: Prolific does not allow rejecting them."
        )
    if refused := _no_ground(participation, submission, category):
        raise ReviewError(refused)
    if len(message) < SHORTEST_MESSAGE:
        raise ReviewError(
            f"Prolific requires a message of at least {SHORTEST_MESSAGE} characters; this message"
            f" has {len(message)}."
        )
    if participation.ledger.filter(payment__isnull=False).exists():
        raise ReviewError("This submission is being paid or has already been paid.")
    client, reference = client_of(submission.prolific_study), _reference(submission)
    client.reject(reference, message, category)
    participation.study.events.create(
        what=f"rejected on Prolific ({CATEGORIES[category]}): {participation}",
        about=participation.pseudonym,
        by=by,
    )
    sync_submission(reference, client)


def _no_ground(participation: Participation, submission: Submission, category: str) -> str:
    """Return why Prolific's rules don't allow this reason, or "" if they do."""
    if category == "FAILED_CHECK":
        passed, answered = attention_checks.results(participation)
        assert submission.prolific_study is not None  # ensured by `reviewable`
        needed = 1 if submission.prolific_study.minutes < SHORT_STUDY else 2
        if answered - passed < needed:
            return (
                f"{answered - passed} attention checks were failed; Prolific requires {needed}"
                f" in a study of {submission.prolific_study.minutes} minutes."
            )
    elif category == "TOO_QUICKLY":
        return _not_too_fast(participation)
    answers = Answer.objects.filter(turn__participation=participation)
    if category == "NO_DATA" and answers.exists():
        return "The participant has given answers."
    return ""


def _not_too_fast(participation: Participation) -> str:
    """Return why the work isn't exceptionally fast compared with that of others, or ""."""
    completed = participation.study.participations.filter(
        scenario=participation.scenario_id,
        kind=participation.kind,
        status=Status.COMPLETED,
        worked_seconds__isnull=False,
    )
    times = completed.exclude(pk=participation.pk).values_list("worked_seconds", flat=True)
    other_times = [time for time in times if time is not None]
    if participation.status != Status.COMPLETED:
        return "The participant has not completed the study, so the time cannot be compared."
    if len(other_times) < OTHERS_NEEDED:
        return (
            f"{len(other_times)} others have completed this scenario; {OTHERS_NEEDED} are needed to"
            " determine what is exceptionally fast."
        )
    work = participation.worked_seconds
    mean, spread = statistics.mean(other_times), statistics.stdev(other_times)
    limit = mean - SDS_TOO_FAST * spread
    if work is not None and work < limit:
        return ""
    return (
        f"{work or 0:.0f} s of work; the others took {mean:.0f} s ± {spread:.0f} s. Prolific"
        f" regards times below {limit:.0f} s as exceptionally fast ({SDS_TOO_FAST} standard"
        " deviations below the mean)."
    )


def _open_submission(participation: Participation) -> Submission:
    submission = reviewable(participation.submissions.exclude(prolific_study=None).last())
    if submission is None:
        raise ReviewError("This participant has no open submission on Prolific.")
    return submission


def _reference(submission: Submission) -> str:
    """Return the submission's ID on Prolific. Raises ReviewError if it was lost."""
    try:
        return identities.decrypt(submission.reference)
    except identities.LostKey as error:
        raise ReviewError(f"{error} Check the submission on Prolific.") from None
