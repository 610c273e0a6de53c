"""Excluding participations from the analysis manually, or including them again, with a reason.

Inclusion in the analysis is independent of payment, so this module never changes pay. An exclusion
frees the seat, so that the scenario still gets as many analysed annotators as it has seats. Each
manual decision records whether the score was visible (blinding.py).
"""

from collections.abc import Iterable

from django.contrib.auth.models import User
from django.db.models import Exists, OuterRef, Subquery

from annotation.models import (
    AuditEntry,
    Decision,
    Kind,
    Participation,
    ParticipationQuerySet,
    Status,
    Study,
    Submission,
    Topic,
)
from annotation.protocol import blinding
from annotation.protocol.qualification import for_each
from annotation.recruitment.seats import free_seat


class ExclusionError(Exception):
    """Raised if the decision isn't possible. The message is shown to users."""


def rejected_elsewhere(study: Study) -> ParticipationQuerySet:
    """Return analysed annotators whom the platform rejected, but who are undecided here.

    A rejection doesn't end a completed participation: a researcher excludes it or keeps it.
    """
    latest = Submission.objects.filter(participation=OuterRef("pk")).order_by("-pk")
    decided = Decision.objects.filter(
        participation=OuterRef("pk"), about=Decision.About.ANALYSIS, by__isnull=False
    )
    rejected = study.submissions.filter(status="REJECTED").order_by().values("participation")
    people = study.participations.analysed().filter(kind=Kind.PERSON, pk__in=rejected)
    people = people.alias(there=Subquery(latest.values("status")[:1]))
    return people.filter(~Exists(decided), there="REJECTED")


def decide_in_bulk(
    study: Study, pseudonyms: Iterable[str], in_analysis: bool, reason: str, by: User | None
) -> None:
    """Decide on all annotators or none, storing a decision for each. Raises CannotDecide."""
    for_each(study, pseudonyms, lambda p: decide(p, in_analysis, reason, by), ExclusionError)


def decide(participation: Participation, in_analysis: bool, reason: str, by: User | None) -> None:
    """Exclude a completed participation from the analysis, or include it again.

    The decision is logged. Keeping a participation that is already included only counts as a
    decision for `rejected_elsewhere`. If the participation is not completed or its seat was
    reassigned, raises ExclusionError without changing anything.
    """
    # Seats are assigned while holding the study's lock, so taking one back requires it, too.
    with Study.locking(participation.study_id):
        locked = Participation.objects.select_for_update(no_key=True).get(pk=participation.pk)
        if locked.status != Status.COMPLETED:
            raise ExclusionError("Only a completed participation can be excluded or included.")
        was_in = locked.in_analysis
        keeps = was_in and in_analysis
        if keeps and not rejected_elsewhere(locked.study).filter(pk=locked.pk).exists():
            return
        if not was_in and not in_analysis:
            return
        seat = None
        if in_analysis:
            seat = locked.seat_number or free_seat(locked.scenario, locked.kind)
            if seat is None:
                raise ExclusionError(
                    "The seat has been given to another annotator. Exclude an annotator in this"
                    " scenario first."
                )
        locked.store(in_analysis=in_analysis, seat_number=seat)
        seen = blinding.is_seen(locked, by)
        locked.record_decision(Decision.About.ANALYSIS, in_analysis, reason, by, score_seen=seen)
        event = "excluded from the analysis"
        if in_analysis:
            event = "kept in the analysis" if keeps else "included in the analysis again"
        AuditEntry.objects.record(
            event, Topic.PEOPLE, study=locked.study, about=locked.pseudonym, by=by,
            before={"in_analysis": was_in}, after={"in_analysis": in_analysis},
        )  # fmt: skip
