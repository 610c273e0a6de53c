"""Find the exit of a participation: the code and URL of its platform."""

import logging

from annotation.models import Participation, Status
from annotation.recruitment import consent, identities, links
from annotation.recruitment.platform_adapters import Exit, Identity, adapter_of

logger = logging.getLogger(__name__)


def exit_of(participation: Participation, outcome: str) -> Exit | None:
    """Return a participation's exit on the platform of its latest submission.

    For a further task, the outcome is that of the first task, which ended the submission.
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


# Maps the status of a participation to its outcome (a key of platform_adapters.OUTCOMES).
OUTCOMES = {
    Status.BETWEEN: "completed", Status.COMPLETED: "completed", Status.REFUSED: "study_full",
    Status.SCREENED_OUT: "not_qualified",
}  # fmt: skip


def current_exit(participation: Participation) -> Exit | None:
    """Return the exit in the current state, or None before the end, so codes stay secret."""
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


class Agreed(Exception):
    """Raised if the worker has consented in another tab in the meantime, which takes precedence."""


def decline(token: str) -> Exit | None:
    """Delete the participation of a worker who declines and return its exit. Raises Agreed."""
    study_exit = None
    for participation in Participation.objects.filter(token=token).select_related("study"):
        study_exit = exit_of(participation, "no_consent")
        consent.record(participation, agree=False)
    if Participation.objects.filter(token=token, consented_at__isnull=False).exists():
        raise Agreed
    return study_exit
