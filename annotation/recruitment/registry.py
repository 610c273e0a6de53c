"""Find a worker's exit: the completion code and the URL of the platform."""

import logging

from annotation.models import Participation, Status
from annotation.recruitment import consent, identities, links
from annotation.recruitment.platform_adapters import Exit, Identity, adapter_of

logger = logging.getLogger(__name__)


def exit_of(participation: Participation, outcome: str) -> Exit | None:
    """Return the exit to the platform from which the worker came last.

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
